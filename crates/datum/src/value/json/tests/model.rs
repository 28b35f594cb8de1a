//! Changes at random paths, compared with a document of vectors and maps that is changed by the
//! manual's words.

use std::collections::BTreeMap;

use stdx::random::Random;

use super::super::edit::{self, Mode};
use super::super::path::{Index, Leg};
use super::super::{Path, Tree, encode, root};
use super::{encoded, printed};

/// A document as anyone would write it.
#[derive(Debug, Clone, PartialEq)]
enum Model {
    Number(u64),
    Array(Vec<Model>),
    Object(BTreeMap<String, Model>),
}

impl Model {
    fn random(random: &mut Random, levels: u32) -> Model {
        match random.below(if levels == 0 { 1 } else { 3 }) {
            0 => Model::Number(random.below(100)),
            1 => Model::Array((0..random.below(4)).map(|_| Model::random(random, levels - 1)).collect()),
            _ => {
                let name = |random: &mut Random| ["a", "b", "cc"][random.below(3) as usize].to_owned();
                let mut members = BTreeMap::new();
                for _ in 0..random.below(3) {
                    members.insert(name(random), Model::random(random, levels - 1));
                }
                Model::Object(members)
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Model::Number(n) => n.to_string(),
            Model::Array(all) => format!("[{}]", all.iter().map(Model::text).collect::<Vec<_>>().join(", ")),
            Model::Object(all) => {
                // Names are of one or two letters, so their order by length is this.
                let mut members: Vec<_> = all.iter().collect();
                members.sort_by_key(|(name, _)| (name.len(), (*name).clone()));
                let shown = members.iter().map(|(k, v)| format!("\"{k}\": {}", v.text()));
                format!("{{{}}}", shown.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The value at a path.
    fn at(&mut self, legs: &[Leg]) -> Option<&mut Model> {
        let Some((leg, rest)) = legs.split_first() else { return Some(self) };
        let is_array = matches!(self, Model::Array(_));
        match (leg, self) {
            (Leg::Member(name), Model::Object(all)) => {
                all.get_mut(std::str::from_utf8(name).unwrap())?.at(rest)
            }
            (Leg::Cell(index), Model::Array(all)) => {
                let at = place(*index, all.len())?;
                all[at].at(rest)
            }
            (Leg::Cell(index), value) if !is_array && place(*index, 1).is_some() => value.at(rest),
            _ => None,
        }
    }

    fn set(&mut self, legs: &[Leg], value: Model, mode: Mode) {
        if self.at(legs).is_some() {
            if mode != Mode::Insert {
                *self.at(legs).unwrap() = value;
            }
            return;
        }
        let Some((last, parents)) = legs.split_last() else { return };
        if mode == Mode::Replace {
            return;
        }
        match (last, self.at(parents)) {
            (Leg::Member(name), Some(Model::Object(all))) => {
                all.insert(String::from_utf8(name.to_vec()).unwrap(), value);
            }
            (Leg::Cell(index), Some(Model::Array(all))) if index.from_last => all.insert(0, value),
            (Leg::Cell(_), Some(Model::Array(all))) => all.push(value),
            (Leg::Cell(index), Some(other)) => {
                let own = other.clone();
                *other = Model::Array(if index.from_last { vec![value, own] } else { vec![own, value] });
            }
            _ => {}
        }
    }

    fn remove(&mut self, legs: &[Leg]) {
        let Some((last, parents)) = legs.split_last() else { return };
        match (last, self.at(parents)) {
            (Leg::Member(name), Some(Model::Object(all))) => {
                all.remove(std::str::from_utf8(name).unwrap());
            }
            (Leg::Cell(index), Some(Model::Array(all))) => {
                if let Some(at) = place(*index, all.len()) {
                    all.remove(at);
                }
            }
            (Leg::Cell(index), Some(_)) if place(*index, 1).is_some() => self.remove(parents),
            _ => {}
        }
    }
}

fn place(index: Index, len: usize) -> Option<usize> {
    let n = index.offset as i64;
    let at = if index.from_last { len as i64 - 1 - n } else { n };
    (0..len as i64).contains(&at).then_some(at as usize)
}

fn random_path(random: &mut Random) -> String {
    let mut path = "$".to_owned();
    for _ in 0..random.below(4) {
        let n = random.below(4);
        match random.below(5) {
            0 => path += ".a",
            1 => path += ".b",
            2 => path += ".\"cc\"",
            3 => path += &format!("[{n}]"),
            _ => path += &format!("[ last - {n} ]"),
        }
    }
    path
}

#[test]
fn changes_at_random_paths_do_what_the_model_does() {
    let mut random = Random::new(11);
    for round in 0..6_000 {
        let mut model = Model::random(&mut random, 3);
        let document = encoded(&model.text());
        let mut tree = Tree::Stored(root(&document).unwrap());
        let mut story = format!("{round}: {}", model.text());
        for _ in 0..3 {
            let text = random_path(&mut random);
            let path = Path::parse(text.as_bytes()).unwrap();
            let legs = path.legs();
            let value = Model::Number(1000);
            let action = random.below(4);
            story += &format!("; {action} {text}");
            match action {
                0..=2 => {
                    let mode = [Mode::Set, Mode::Insert, Mode::Replace][action as usize];
                    edit::set(&mut tree, legs, Tree::Int(1000), mode).unwrap();
                    model.set(legs, value, mode);
                }
                _ => {
                    edit::remove(&mut tree, legs).unwrap();
                    model.remove(legs);
                }
            }
            let now = encode(&tree).unwrap();
            assert_eq!(printed(&now), model.text(), "{story}");
            // What a path finds is what the model has there.
            let text = random_path(&mut random);
            let path = Path::parse(text.as_bytes()).unwrap();
            let found = path.find_one(root(&now).unwrap()).unwrap().map(|v| {
                let mut out = Vec::new();
                v.write_document(&mut out).unwrap();
                printed(&out)
            });
            assert_eq!(found, model.at(path.legs()).map(|m| m.text()), "{story}; {text}");
            assert_eq!(path.find(root(&now).unwrap()).unwrap().len(), usize::from(found.is_some()));
        }
    }
}
