//! Optimizer hints that choose between plans: what stands in `/*+ .. */` of a query block.
//!
//! The parser brings each to the block that it is about, wherever it was written; what is left in a
//! block's list is about that block, and only the tables of a join order may be of another one.

use super::Ident;

/// A hint of a query block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanHint {
    /// Which one.
    pub form: &'static HintForm,
    /// The block that it is about: as written, and once the statement is parsed what messages call
    /// that block.
    pub block: Option<Ident>,
    /// The tables; an index hint has one.
    pub tables: Vec<HintTable>,
    /// The indexes of an index hint, in their order; the name that QB_NAME gives.
    pub names: Vec<Ident>,
}

/// A table by its alias, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintTable {
    /// Its alias, or its name.
    pub name: Ident,
    /// The block that it is in, if that was written and is no index hint's own.
    pub block: Option<Ident>,
}

/// A hint's name and grammar.
#[derive(Debug, PartialEq, Eq)]
pub struct HintForm {
    /// In capitals.
    pub name: &'static str,
    pub class: HintClass,
}

/// What a hint is about, and what stands in its parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintClass {
    /// `[@block] [table [, table] ..]`, or `table@block`; without effect.
    Tables,
    /// `[@block] table [index [, index] ..]`, which asks for these indexes, or forbids them.
    Indexes { forbids: bool, scope: super::IndexHintScope },
    /// The same; without effect.
    OtherIndexes,
    /// `[@block] [strategy [, strategy] ..]`; without effect.
    Strategies,
    /// `[@block] [table [, table] ..]`: JOIN_ORDER, JOIN_PREFIX, JOIN_SUFFIX.
    Order(OrderHint),
    /// `[@block]`: JOIN_FIXED_ORDER.
    FixedOrder,
    /// `name`: QB_NAME.
    BlockName,
    /// `name`: RESOURCE_GROUP; without effect.
    ResourceGroup,
}

/// Which tables of a join a hint puts where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderHint {
    /// Those that are named in this order, others anywhere.
    Among,
    /// They first.
    First,
    /// They last.
    Last,
}

impl PlanHint {
    /// True for JOIN_FIXED_ORDER of the block that it stands in.
    pub(crate) fn fixes_own_order(&self) -> bool {
        self.form.class == HintClass::FixedOrder && self.block.is_none()
    }
}

impl HintForm {
    /// The form of this name, in any case.
    pub(crate) fn find(name: &str) -> Option<&'static HintForm> {
        FORMS.iter().find(|form| form.name.eq_ignore_ascii_case(name))
    }
}

const fn form(name: &'static str, class: HintClass) -> HintForm {
    HintForm { name, class }
}

const fn indexes(name: &'static str, forbids: bool, scope: super::IndexHintScope) -> HintForm {
    HintForm { name, class: HintClass::Indexes { forbids, scope } }
}

static FORMS: [HintForm; 35] = {
    use super::IndexHintScope as Scope;
    use HintClass as C;
    [
        form("BKA", C::Tables),
        form("BNL", C::Tables),
        form("DERIVED_CONDITION_PUSHDOWN", C::Tables),
        indexes("GROUP_INDEX", false, Scope::GroupBy),
        form("HASH_JOIN", C::Tables),
        indexes("INDEX", false, Scope::All),
        form("INDEX_MERGE", C::OtherIndexes),
        form("JOIN_FIXED_ORDER", C::FixedOrder),
        indexes("JOIN_INDEX", false, Scope::Join),
        form("JOIN_ORDER", C::Order(OrderHint::Among)),
        form("JOIN_PREFIX", C::Order(OrderHint::First)),
        form("JOIN_SUFFIX", C::Order(OrderHint::Last)),
        form("MERGE", C::Tables),
        form("MRR", C::OtherIndexes),
        form("NO_BKA", C::Tables),
        form("NO_BNL", C::Tables),
        form("NO_DERIVED_CONDITION_PUSHDOWN", C::Tables),
        indexes("NO_GROUP_INDEX", true, Scope::GroupBy),
        form("NO_HASH_JOIN", C::Tables),
        form("NO_ICP", C::OtherIndexes),
        indexes("NO_INDEX", true, Scope::All),
        form("NO_INDEX_MERGE", C::OtherIndexes),
        indexes("NO_JOIN_INDEX", true, Scope::Join),
        form("NO_MERGE", C::Tables),
        form("NO_MRR", C::OtherIndexes),
        indexes("NO_ORDER_INDEX", true, Scope::OrderBy),
        form("NO_RANGE_OPTIMIZATION", C::OtherIndexes),
        form("NO_SEMIJOIN", C::Strategies),
        form("NO_SKIP_SCAN", C::OtherIndexes),
        indexes("ORDER_INDEX", false, Scope::OrderBy),
        form("QB_NAME", C::BlockName),
        form("RESOURCE_GROUP", C::ResourceGroup),
        form("SEMIJOIN", C::Strategies),
        form("SKIP_SCAN", C::OtherIndexes),
        form("SUBQUERY", C::Strategies),
    ]
};
