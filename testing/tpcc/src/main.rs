//! The driver as a client program: `tpcc load`, `tpcc run`, `tpcc check`.

use mysql::prelude::Queryable;
use std::process::ExitCode;
use std::time::Duration;
use tpcc::Result;
use tpcc::scale::Scale;
use tpcc::session::{Form, Target};
use tpcc::terminal::Mix;

const HELP: &str = "\
tpcc load  [--warehouses=N] [--small] [--foreign-keys]
                                           makes the tables and fills them
tpcc run   [--terminals=N] [--time=SECONDS] [--think] [--text]
                                           runs the standard mix and tells tpmC and times
tpcc check                                 the consistency conditions of clause 3.3.2; fails where one is broken

  --socket=PATH or --host=NAME --port=N, --user=NAME, --password=TEXT, --database=NAME (tpcc)
  --small        a hundredth of the specified rows, for tests
  --foreign-keys the references of clause 1.4 are enforced
  --think        keying and think times; without, terminals never pause
  --text         statements as text, not prepared
  --seed=N       what random values begin with (1)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match Command::parse(&args).and_then(|c| c.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tpcc: {e}");
            ExitCode::FAILURE
        }
    }
}

struct Command {
    name: String,
    target: Target,
    warehouses: u32,
    is_small: bool,
    has_foreign_keys: bool,
    mix: Mix,
}

impl Command {
    fn parse(args: &[String]) -> Result<Self> {
        let mix = Mix {
            terminals: 16,
            time: Duration::from_secs(60),
            thinks: false,
            form: Form::Prepared,
            seed: 1,
        };
        let (name, options) = args.split_first().ok_or(HELP)?;
        let target = Target::default();
        let (warehouses, is_small, has_foreign_keys) = (4, false, false);
        let mut command = Self { name: name.clone(), target, warehouses, is_small, has_foreign_keys, mix };
        for option in options {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            command.set(name, value).map_err(|e| format!("{option}: {e}\n{HELP}"))?;
        }
        Ok(command)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--socket" => self.target.socket = Some(value.into()),
            "--host" => self.target.host = value.into(),
            "--port" => self.target.port = value.parse()?,
            "--user" => self.target.user = value.into(),
            "--password" => self.target.password = value.into(),
            "--database" => self.target.database = value.into(),
            "--warehouses" => self.warehouses = value.parse()?,
            "--small" => self.is_small = true,
            "--foreign-keys" => self.has_foreign_keys = true,
            "--terminals" => self.mix.terminals = value.parse()?,
            "--time" => self.mix.time = Duration::from_secs(value.parse()?),
            "--think" => self.mix.thinks = true,
            "--text" => self.mix.form = Form::Text,
            "--seed" => self.mix.seed = value.parse()?,
            _ => return Err("no such option".into()),
        }
        Ok(())
    }

    fn run(&self) -> Result<()> {
        match self.name.as_str() {
            "load" => self.load(),
            "run" => self.measure(),
            "check" => self.check(),
            _ => Err(HELP.into()),
        }
    }

    fn load(&self) -> Result<()> {
        let scale =
            if self.is_small { Scale::small(self.warehouses) } else { Scale::specified(self.warehouses) };
        match self.has_foreign_keys {
            true => tpcc::load::load_with_foreign_keys(&self.target, &scale, self.mix.seed),
            false => tpcc::load::load(&self.target, &scale, self.mix.seed),
        }
    }

    fn measure(&self) -> Result<()> {
        let outcome = tpcc::terminal::run(&self.target, &self.found_scale()?, &self.mix)?;
        println!("{outcome}");
        match outcome.errors.first() {
            Some(error) => Err(format!("{} terminals failed: {error}", outcome.errors.len()).into()),
            None if outcome.lost_connections > 0 => Err("the server went away".into()),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
        let broken = tpcc::consistency::check(&self.target, &self.found_scale()?)?;
        if broken.is_empty() {
            println!("all {} conditions hold", tpcc::consistency::CONDITIONS.len());
            return Ok(());
        }
        Err(broken.join("\n").into())
    }

    /// The sizes of the tables that are there.
    fn found_scale(&self) -> Result<Scale> {
        let mut conn = self.target.connect()?;
        let mut count = |sql: &str| -> Result<u32> {
            let sql = format!("SELECT COUNT(*) FROM {}.{sql}", self.target.database);
            Ok(conn.query_first(sql)?.ok_or("no count")?)
        };
        let warehouses = count("warehouse")?;
        let customers = count("customer WHERE c_w_id = 1 AND c_d_id = 1")?;
        if warehouses == 0 {
            return Err("there are no warehouses: `tpcc load` first".into());
        }
        Ok(Scale { warehouses, items: count("item")?, customers })
    }
}
