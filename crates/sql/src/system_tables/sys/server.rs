//! Versions, and all that is measured in one list.

use super::super::column::{MB4, columns};
use super::{Each, NOTHING, SystemTable, Table, Wanted, text_of};
use crate::listing::{cells, variables};
use crate::session::Context;
use datum::error::Result;
use datum::value::Datum;

/// The version of MySQL's `sys` whose columns these are.
const SYS_VERSION: &str = "2.1.3";

/// The views.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "metrics",
        columns: columns! {
            Variable_name: VarcharOf(193, MB4), Variable_value: TextOf(MB4) or_null,
            Type: VarcharOf(210, MB4), Enabled: VarcharOf(7, MB4),
        },
        keys: NOTHING,
        rows: metrics,
    },
    SystemTable {
        name: "version",
        columns: columns! { sys_version: VarcharOf(5, MB4), mysql_version: VarcharOf(64, MB4) },
        keys: NOTHING,
        rows: |cx, _, each| each(cells![SYS_VERSION, cx.version()]),
    },
];

fn metrics(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let mut rows: Vec<[String; 4]> = Vec::new();
    for row in variables::status(cx, true).into_rows() {
        let mut row = row.iter().map(|value| text_of(value).unwrap_or_default());
        let (name, value) = (row.next().unwrap_or_default(), row.next().unwrap_or_default());
        rows.push([name.to_lowercase(), value, "Global Status".into(), "YES".into()]);
    }
    let counted = Table::read(cx, "information_schema", "INNODB_METRICS")?;
    for row in &counted.rows {
        let cell = |name: &str| text_of(counted.cell(row, name)).unwrap_or_default();
        let is_on = if cell("STATUS") == "enabled" { "YES" } else { "NO" };
        let of = format!("InnoDB Metrics - {}", cell("SUBSYSTEM"));
        rows.push([cell("NAME"), cell("COUNT"), of, is_on.into()]);
    }
    let now = cx.real_moment();
    let shown = super::super::mysql::moment(cx, now as u64);
    let unix = format!("{}.{:06}", now / 1_000_000, now % 1_000_000);
    for (name, value) in [("NOW()", text_of(&shown).unwrap_or_default()), ("UNIX_TIMESTAMP()", unix)] {
        rows.push([name.into(), value, "System Time".into(), "YES".into()]);
    }
    rows.sort_by(|a, b| (&a[2], &a[0]).cmp(&(&b[2], &b[0])));
    rows.into_iter().try_for_each(|row| each(row.map(Datum::owned).into()))
}
