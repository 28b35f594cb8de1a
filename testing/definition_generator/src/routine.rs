//! Stored functions and procedures: parameters, characteristics and bodies of every sort.
//!
//! Nothing calls them: what is tested is that they are kept as they were written.

use super::text::{between, name, pick};
use super::types::any_type;
use super::{Session, Try, expression};
use stdx::random::Random;

/// One to three functions and procedures, changed, or dropped and made again, at times.
pub(super) fn routines(session: &Session, random: &mut Random, run: &mut Try<'_>) {
    for number in 0..between(random, 1, 3) {
        let name = name(random, number);
        let name = session.quote(random, &name);
        let (kind, text) = if random.chance(1, 2) {
            ("FUNCTION", function(session, random, &name))
        } else {
            ("PROCEDURE", procedure(session, random, &name))
        };
        let made = run(&text);
        if made && random.chance(1, 6) {
            let comment = session.any_literal(random, 30);
            run(&format!("ALTER {kind} {name} COMMENT {comment} SQL SECURITY INVOKER"));
        }
        if made && random.chance(1, 6) && run(&format!("DROP {kind} {name}")) {
            run(&text);
        }
    }
}

/// A type with its character set next to the collation, which routines ask for; mostly.
fn routine_type(session: &Session, random: &mut Random) -> String {
    let ty = any_type(session, random).0;
    match ty.rsplit_once(" COLLATE ") {
        Some((before, collation)) if !before.contains(" CHARACTER SET ") && !random.chance(1, 10) => {
            let charset = collation.split('_').next().unwrap_or_default();
            format!("{before} CHARACTER SET {charset} COLLATE {collation}")
        }
        _ => ty,
    }
}

fn function(session: &Session, random: &mut Random, name: &str) -> String {
    let parameters = parameters(session, random, &[""]);
    let returns = routine_type(session, random);
    let characteristics = characteristics(session, random);
    let returned = if random.chance(1, 6) {
        expression::deep(session, random, &[])
    } else {
        expression::any(session, random, &[], 3)
    };
    let body = match random.below(6) {
        0 => format!("BEGIN DECLARE a, b INT DEFAULT 1; SET a = b + 1; RETURN {returned}; END"),
        1 => format!(
            "BEGIN\n  -- a comment \\ with 'quotes\n  IF {returned} THEN RETURN 1; ELSE RETURN NULL; END IF; END"
        ),
        2 => format!(
            "`l``1`: BEGIN DECLARE `v 1` VARCHAR(10) CHARACTER SET latin1 DEFAULT {}; \
             WHILE 0 DO SET `v 1` = 'x'; END WHILE; RETURN {returned}; END",
            session.any_literal(random, 5)
        ),
        3 => format!("BEGIN CASE 1 WHEN {returned} THEN RETURN 2; ELSE RETURN 3; END CASE; END"),
        _ => format!("RETURN {returned}"),
    };
    let definer = definer(random);
    format!("CREATE {definer}FUNCTION {name}({parameters}) RETURNS {returns}{characteristics} {body}")
}

fn procedure(session: &Session, random: &mut Random, name: &str) -> String {
    let parameters = parameters(session, random, &["", "IN ", "OUT ", "INOUT "]);
    let characteristics = characteristics(session, random);
    let definer = definer(random);
    let body = statement(session, random, name, 0);
    format!("CREATE {definer}PROCEDURE {name}({parameters}){characteristics} {body}")
}

/// A statement of a procedure; `depth` blocks are around it.
fn statement(session: &Session, random: &mut Random, name: &str, depth: u32) -> String {
    if depth > 3 {
        return "DO 1".to_owned();
    }
    let mut inner = || statement(session, random, name, depth + 1);
    let (one, two) = (inner(), inner());
    match random.below(14) {
        0 => format!("SELECT {} AS `a``b`", expression::any(session, random, &[], 3)),
        1 => format!("BEGIN\n  -- it's \\ a comment\n {one}; /* another; END */ {two}; END"),
        2 => format!(
            "`b``1`: BEGIN DECLARE `v 1` DECIMAL(65,30) DEFAULT {}; DECLARE gone CONDITION FOR SQLSTATE '02000'; \
             DECLARE `c``r` CURSOR FOR SELECT 1 UNION ALL SELECT 2; \
             DECLARE CONTINUE HANDLER FOR gone, 1062, SQLWARNING {one}; OPEN `c``r`; FETCH `c``r` INTO `v 1`; \
             CLOSE `c``r`; LEAVE `b``1`; END `b``1`",
            session.any_literal(random, 5)
        ),
        3 => format!("IF {} THEN {one}; ELSE {two}; END IF", expression::any(session, random, &[], 2)),
        4 => format!("`l`: LOOP {one}; IF 1 THEN LEAVE `l`; END IF; ITERATE `l`; END LOOP"),
        5 => format!("REPEAT {one}; UNTIL 1 END REPEAT"),
        6 => format!(
            "SIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = {}, MYSQL_ERRNO = 1644",
            session.any_literal(random, 100)
        ),
        7 => format!(
            "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN GET STACKED DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT; \
             RESIGNAL; END; {one}; END"
        ),
        8 => format!(
            "BEGIN PREPARE `s``1` FROM {}; EXECUTE `s``1`; DEALLOCATE PREPARE `s``1`; END",
            session.any_literal(random, 40)
        ),
        9 => format!("CALL {name}()"),
        10 => "BEGIN START TRANSACTION; INSERT INTO `gone``t` VALUES (1); ROLLBACK; END".to_owned(),
        11 => format!("CASE WHEN 1 THEN {one}; WHEN 0 THEN {two}; END CASE"),
        12 => "CREATE TEMPORARY TABLE IF NOT EXISTS `t``t` (`a``b` INT COMMENT 'x''y')".to_owned(),
        _ => format!("SET @`v``1` = {}", session.any_literal(random, 40)),
    }
}

/// Up to three parameters, each with one of the modes in front.
fn parameters(session: &Session, random: &mut Random, modes: &[&str]) -> String {
    let parameters: Vec<String> = (0..random.below(4))
        .map(|at| {
            let mode = pick(random, modes);
            let parameter = name(random, at);
            let parameter = session.quote(random, &parameter);
            format!("{mode}{parameter} {}", routine_type(session, random))
        })
        .collect();
    parameters.join(", ")
}

fn characteristics(session: &Session, random: &mut Random) -> String {
    let mut characteristics = String::new();
    for choice in [
        &["DETERMINISTIC", "NOT DETERMINISTIC", "DETERMINISTIC"][..],
        &["", "NO SQL", "CONTAINS SQL", "READS SQL DATA", "MODIFIES SQL DATA"],
        &["", "SQL SECURITY INVOKER", "SQL SECURITY DEFINER"],
        &["", "LANGUAGE SQL"],
    ] {
        characteristics += &format!(" {}", pick(random, choice));
    }
    if random.chance(1, 3) {
        characteristics += &format!(" COMMENT {}", session.any_literal(random, 2048));
    }
    characteristics
}

fn definer(random: &mut Random) -> &'static str {
    pick(
        random,
        &["", "", "", "DEFINER = CURRENT_USER ", "DEFINER = root@localhost ", "DEFINER = `no\\'one`@`%` "],
    )
}
