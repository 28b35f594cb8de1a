//! What the unit permits (`SystemCallFilter`, `MemoryDenyWriteExecute`), and what the server does.

use super::service::setting;
use crate::Result;
use std::collections::BTreeSet;
use std::process::Command;

/// The system calls of a unit with `SystemCallFilter=@system-service` and `~@privileged`.
pub(super) fn permitted() -> Result<BTreeSet<String>> {
    let mut calls = group("@system-service")?;
    for call in group("@privileged")? {
        calls.remove(&call);
    }
    // Every filter has these.
    calls.extend(group("@default")?);
    Ok(calls)
}

/// The calls of a group, and of those it names.
fn group(name: &str) -> Result<BTreeSet<String>> {
    let output = Command::new("systemd-analyze").args(["syscall-filter", name]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut calls = BTreeSet::new();
    for word in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        match word.starts_with('@') {
            true if word != name => calls.extend(group(word)?),
            true => {}
            false if !word.is_empty() => drop(calls.insert(word.to_owned())),
            false => {}
        }
    }
    match calls.is_empty() {
        true => Err(format!("systemd-analyze knows no calls of {name}").into()),
        false => Ok(calls),
    }
}

/// What of a trace by strace the unit would have refused, from where the server's program begins.
pub(super) fn refused(trace: &str, unit: &str) -> Result<Vec<String>> {
    if setting(unit, "SystemCallFilter")? != "~@privileged"
        || !unit.contains("SystemCallFilter=@system-service\n")
    {
        return Err("the unit's SystemCallFilter has changed: change `permitted` too".into());
    }
    let permitted = permitted()?;
    let mut refused = BTreeSet::new();
    let (mut begun, mut count) = (false, 0);
    for line in trace.lines() {
        begun |= line.contains("execve(\"/usr/bin/duramen\"");
        let call = line.split_once(' ').map_or("", |(_, call)| call.trim_start());
        let name = call.split('(').next().unwrap_or_default();
        if !begun || call.starts_with(['<', '+', '-']) || name.len() == call.len() {
            continue;
        }
        count += 1;
        let is_map = ["mmap", "mprotect", "pkey_mprotect"].contains(&name);
        if !permitted.contains(name) || is_map && call.contains("PROT_WRITE|PROT_EXEC") {
            refused.insert(name.to_owned());
        }
    }
    println!("  {count} system calls compared with what the unit permits");
    if count == 0 {
        Err("the trace has no call of the server".into())
    } else {
        Ok(refused.into_iter().collect())
    }
}
