//! A network of its own for each server, whose links can be cut: network namespaces on a bridge.
//!
//! A cut link drops what is sent, without a word to either end, as a broken cable does: each end
//! has a wrong hardware address for the other one. It needs `ip` and the right to make namespaces.

use crate::Result;
use std::process::Command;

const NOWHERE: &str = "02:00:00:00:00:01";

/// Who is at one end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkEnd {
    /// Where the clients and the operator are.
    Outside,
    /// A server, by its number.
    Member(usize),
}

/// Removed when dropped.
#[derive(Debug)]
pub(super) struct Network {
    /// Of the bridge and the namespaces.
    name: String,
    /// The first three numbers of its addresses.
    prefix: String,
    members: usize,
}

fn ip(args: &[&str]) -> Result<()> {
    let done = Command::new("ip").args(args).output().map_err(|e| format!("ip: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("ip {}: {} (making networks needs root)", args.join(" "), said.trim()).into())
}

impl Network {
    pub(super) fn new(members: usize) -> Result<Self> {
        let process = std::process::id();
        let prefix = format!("10.{}.{}", 64 + process / 256 % 64, process % 256);
        let network = Self { name: format!("dur{process}"), prefix, members };
        let bridge = network.bridge();
        ip(&["link", "add", &bridge, "type", "bridge"])?;
        ip(&["addr", "add", &format!("{}/24", network.address(LinkEnd::Outside)), "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for number in 0..members {
            let (space, end) = (network.space(number), format!("{}v{number}", network.name));
            let address = format!("{}/24", network.address(LinkEnd::Member(number)));
            ip(&["netns", "add", &space])?;
            ip(&["link", "add", &end, "type", "veth", "peer", "name", "eth0", "netns", &space])?;
            ip(&["link", "set", &end, "master", &bridge, "up"])?;
            ip(&["-n", &space, "addr", "add", &address, "dev", "eth0"])?;
            ip(&["-n", &space, "link", "set", "eth0", "up"])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
        }
        Ok(network)
    }

    fn bridge(&self) -> String {
        format!("{}b", self.name)
    }

    fn space(&self, number: usize) -> String {
        format!("{}n{number}", self.name)
    }

    pub(super) fn address(&self, place: LinkEnd) -> String {
        let last = match place {
            LinkEnd::Outside => 1,
            LinkEnd::Member(number) => number + 2,
        };
        format!("{}.{last}", self.prefix)
    }

    /// What a member's server runs under.
    pub(super) fn tool(&self, number: usize) -> Vec<String> {
        ["ip", "netns", "exec", &self.space(number)].map(str::to_owned).to_vec()
    }

    /// Nothing goes from one place to the other any more, in either direction.
    pub(super) fn cut(&self, one: LinkEnd, other: LinkEnd) -> Result<()> {
        for (from, to) in [(one, other), (other, one)] {
            let to = self.address(to);
            self.neighbour(from, &["replace", &to, "lladdr", NOWHERE, "nud", "permanent"])?;
        }
        Ok(())
    }

    /// All links work again.
    pub(super) fn heal(&self) -> Result<()> {
        let places = || (0..self.members).map(LinkEnd::Member).chain([LinkEnd::Outside]);
        for from in places() {
            for to in places().filter(|to| *to != from) {
                // It may never have been cut.
                let _ = self.neighbour(from, &["del", &self.address(to)]);
            }
        }
        Ok(())
    }

    fn neighbour(&self, at: LinkEnd, what: &[&str]) -> Result<()> {
        let (space, bridge);
        let (before, device): (Vec<&str>, &str) = match at {
            LinkEnd::Outside => {
                bridge = self.bridge();
                (vec!["neigh"], &bridge)
            }
            LinkEnd::Member(number) => {
                space = self.space(number);
                (vec!["-n", &space, "neigh"], "eth0")
            }
        };
        ip(&[&before[..], what, &["dev", device]].concat())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for number in 0..self.members {
            let _ = ip(&["netns", "del", &self.space(number)]);
        }
        let _ = ip(&["link", "del", &self.bridge()]);
    }
}
