//! Character sets, collations, languages and time zones.

use super::super::definition::{Variable, VariableType, choice, other, text};
use crate::locale;

const fn charset(name: &'static str, default: &'static str) -> Variable {
    other(name, VariableType::Charset { default, nullable: false })
}

const fn collation(name: &'static str, default: &'static str) -> Variable {
    other(name, VariableType::Collation(default))
}

pub(super) const VARIABLES: &[Variable] = &[
    charset("character_set_client", "utf8mb4")
        .both()
        .no_option()
        .help_text("What clients send statements in"),
    charset("character_set_connection", "utf8mb4").both().no_option().help_text("What literals are in"),
    charset("character_set_database", "utf8mb4").both().no_option().help_text("The current database's"),
    charset("character_set_filesystem", "binary").both().fixed().help_text("File names are bytes"),
    other("character_set_results", VariableType::Charset { default: "utf8mb4", nullable: true })
        .both()
        .no_option()
        .help_text("What results are sent in; NULL sends them as they are"),
    charset("character_set_server", "utf8mb4").both().help_text("Of databases made without one"),
    charset("character_set_system", "utf8mb3").fact().help_text("Of names"),
    text("character_sets_dir", "").fact().help_text("Character sets are built in"),
    collation("collation_connection", "utf8mb4_0900_ai_ci")
        .both()
        .no_option()
        .help_text("How literals compare"),
    collation("collation_database", "utf8mb4_0900_ai_ci")
        .both()
        .no_option()
        .help_text("The current database's"),
    collation("collation_server", "utf8mb4_0900_ai_ci").both().help_text("Of databases made without one"),
    collation("default_collation_for_utf8mb4", "utf8mb4_0900_ai_ci")
        .both()
        .fixed()
        .no_option()
        .help_text("What utf8mb4 means without a collation"),
    text("lc_messages", "en_US").both().fixed().help_text("Messages are in English"),
    text("lc_messages_dir", "").fact().help_text("Messages are built in"),
    choice("lc_time_names", locale::NAMES, locale::ENGLISH)
        .both()
        .help_text("Language of the names of months and days"),
    text("system_time_zone", "UTC").fact().help_text("The machine's time zone"),
    other("time_zone", VariableType::TimeZone("SYSTEM"))
        .both()
        .no_option()
        .help_text("SYSTEM, an offset from UTC or the name of a zone"),
];
