//! Cycles of dependencies: each strongly connected component is an anomaly, the worst one that its
//! edges make.

use crate::dependencies::{Dependency, Edge, Graph};
use crate::{Anomaly, Found};
use std::collections::{HashMap, HashSet, VecDeque};

/// So many edges of a component are tried for each anomaly: a long history at a weak level is one
/// large component.
const TRIES: usize = 2000;

/// Adds the anomalies of a graph.
pub(crate) fn find(graph: &Graph, found: &mut Vec<Found>) {
    let writes = |kind| kind == Dependency::WriteWrite;
    let flow = |kind| kind != Dependency::ReadWrite && kind != Dependency::Time;
    let untimed = |kind| kind != Dependency::Time;
    for component in components(graph, writes) {
        component.cycle(graph, Anomaly::G0, writes, writes, found);
    }
    for component in components(graph, flow) {
        component.cycle(graph, Anomaly::G1c, |kind| kind == Dependency::WriteRead, flow, found);
    }
    for component in components(graph, untimed) {
        component.anti_dependencies(graph, flow, untimed, found);
    }
    if graph.edges.len() == graph.transactions {
        return;
    }
    let is_new = found.len();
    let timed_flow = |kind| kind != Dependency::ReadWrite;
    for component in components(graph, timed_flow) {
        component.cycle(graph, Anomaly::G1c, |kind| kind == Dependency::Time, timed_flow, found);
    }
    for component in components(graph, |_| true) {
        component.anti_dependencies(graph, timed_flow, |_| true, found);
    }
    // What needs no moments was found before.
    let mut number = 0;
    found.retain(|one| {
        number += 1;
        number <= is_new || one.in_real_time
    });
}

/// Nodes each of which leads to each other one.
struct Component {
    nodes: Vec<usize>,
    is_in: HashSet<usize>,
}

/// A cycle: its first node, and its edges.
type Cycle = (usize, Vec<Edge>);

impl Component {
    /// Finds a cycle that begins with an edge of one kind and goes on with edges of others.
    fn cycle(
        &self,
        graph: &Graph,
        anomaly: Anomaly,
        first: impl Fn(Dependency) -> bool,
        others: impl Fn(Dependency) -> bool + Copy,
        found: &mut Vec<Found>,
    ) -> bool {
        let cycle = self.edges(graph, first).take(TRIES).find_map(|(from, edge)| {
            let back = self.path(graph, edge.to, from, |_, kind| others(kind))?;
            Some((from, [vec![edge], back].concat()))
        });
        let is_found = cycle.is_some();
        found.extend(cycle.map(|cycle| in_words(graph, anomaly, &cycle)));
        is_found
    }

    /// The worst cycle that has edges to writes that were not seen.
    fn anti_dependencies(
        &self,
        graph: &Graph,
        flow: impl Fn(Dependency) -> bool + Copy,
        all: impl Fn(Dependency) -> bool + Copy,
        found: &mut Vec<Found>,
    ) {
        let unseen = |kind| kind == Dependency::ReadWrite;
        if self.cycle(graph, Anomaly::GSingle, unseen, flow, found) {
            return;
        }
        let nonadjacent = self.edges(graph, unseen).take(TRIES).find_map(|(from, edge)| {
            let is_taken = |last: Dependency, kind| all(kind) && !(unseen(last) && unseen(kind));
            let back = self.path_after(graph, edge, from, is_taken)?;
            Some((from, [vec![edge], back].concat()))
        });
        match nonadjacent {
            Some(cycle) => found.push(in_words(graph, Anomaly::GNonadjacent, &cycle)),
            None => {
                self.cycle(graph, Anomaly::G2, unseen, all, found);
            }
        }
    }

    /// Its edges of some kinds, with where they come from.
    fn edges<'a>(
        &'a self,
        graph: &'a Graph,
        is_wanted: impl Fn(Dependency) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, Edge)> + 'a {
        let all = self.nodes.iter().flat_map(|&from| graph.edges[from].iter().map(move |&edge| (from, edge)));
        all.filter(move |(_, edge)| is_wanted(edge.kind) && self.is_in.contains(&edge.to))
    }

    /// The shortest path within it.
    fn path(
        &self,
        graph: &Graph,
        from: usize,
        to: usize,
        is_taken: impl Fn(Dependency, Dependency) -> bool,
    ) -> Option<Vec<Edge>> {
        self.path_after(graph, Edge { to: from, kind: Dependency::Time, why: (0, 0) }, to, is_taken)
    }

    /// The shortest path that goes on after an edge; `is_taken` judges an edge by the one before.
    /// The last one may not be one that `is_taken` refuses before a [`Dependency::ReadWrite`].
    fn path_after(
        &self,
        graph: &Graph,
        first: Edge,
        to: usize,
        is_taken: impl Fn(Dependency, Dependency) -> bool,
    ) -> Option<Vec<Edge>> {
        // A node may be reached by an edge of each kind.
        let mut reached: HashMap<(usize, bool), ((usize, bool), Edge)> = HashMap::new();
        let is_unseen = |edge: &Edge| edge.kind == Dependency::ReadWrite;
        let start = (first.to, is_unseen(&first));
        let mut queue = VecDeque::from([start]);
        let ends = |state: (usize, bool)| state.0 == to && !(is_unseen(&first) && state.1);
        while let Some(state) = queue.pop_front() {
            if ends(state) {
                let mut path = Vec::new();
                let mut at = state;
                while at != start {
                    let (before, edge) = reached[&at];
                    path.push(edge);
                    at = before;
                }
                path.reverse();
                return Some(path);
            }
            let last = if state.1 { Dependency::ReadWrite } else { Dependency::WriteWrite };
            for edge in &graph.edges[state.0] {
                let next = (edge.to, is_unseen(edge));
                if self.is_in.contains(&edge.to)
                    && is_taken(last, edge.kind)
                    && next != start
                    && !reached.contains_key(&next)
                {
                    reached.insert(next, (state, *edge));
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// A cycle in words.
fn in_words(graph: &Graph, anomaly: Anomaly, (first, edges): &Cycle) -> Found {
    let mut text = format!("T{first}");
    for edge in edges {
        let (list, element) = edge.why;
        let why = match edge.kind {
            Dependency::WriteWrite => {
                format!("appended before T{} appended {element} to list {list}", edge.to)
            }
            Dependency::WriteRead => format!("appended {element} to list {list}, which T{} read", edge.to),
            Dependency::ReadWrite => format!("did not see {element} of T{} in list {list}", edge.to),
            Dependency::Time if edge.to < graph.transactions => format!("ended before T{} began", edge.to),
            Dependency::Time => continue,
        };
        text.push_str(&format!(" {why}; T{}", edge.to));
    }
    let in_real_time = edges.iter().any(|edge| edge.kind == Dependency::Time);
    Found { anomaly, in_real_time, text }
}

/// The components of more than one node, by edges of some kinds (Tarjan's, without recursion).
fn components(graph: &Graph, is_taken: impl Fn(Dependency) -> bool) -> Vec<Component> {
    const NONE: usize = usize::MAX;
    let count = graph.edges.len();
    let (mut index, mut low, mut on_stack) = (vec![NONE; count], vec![0; count], vec![false; count]);
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..count {
        if index[root] != NONE {
            continue;
        }
        // A node, and how many of its edges were followed.
        let mut calls = vec![(root, 0)];
        while let Some(&mut (node, ref mut followed)) = calls.last_mut() {
            if *followed == 0 && index[node] == NONE {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            match graph.edges[node].get(*followed) {
                Some(edge) => {
                    *followed += 1;
                    match index[edge.to] {
                        _ if !is_taken(edge.kind) => {}
                        NONE => calls.push((edge.to, 0)),
                        of_other if on_stack[edge.to] => low[node] = low[node].min(of_other),
                        _ => {}
                    }
                }
                None => {
                    calls.pop();
                    if let Some(&(caller, _)) = calls.last() {
                        low[caller] = low[caller].min(low[node]);
                    }
                    if low[node] == index[node] {
                        let at = stack.iter().rposition(|&other| other == node).unwrap_or_default();
                        let nodes = stack.split_off(at);
                        nodes.iter().for_each(|&node| on_stack[node] = false);
                        if nodes.len() > 1 {
                            let is_in = nodes.iter().copied().collect();
                            found.push(Component { nodes, is_in });
                        }
                    }
                }
            }
        }
    }
    found
}
