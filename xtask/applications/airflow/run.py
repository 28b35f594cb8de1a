"""Workflows: the schema by all migrations, then a run of one with mapped tasks, its history, a cleaning."""

import os
import subprocess
import sys
from importlib.metadata import version

if sys.argv[1] == "version":
    print("apache-airflow " + version("apache-airflow"))
    sys.exit()

folder = os.environ["APPLICATION_FOLDER"]
here = os.path.dirname(os.path.abspath(__file__))
database = "mysql+pymysql://{DB_USER}:{DB_PASSWORD}@{DB_HOST}:{DB_PORT}/{DB_NAME}?charset=utf8mb4"
settings = {
    "AIRFLOW_HOME": folder,
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.format(**os.environ),
    "AIRFLOW__CORE__DAGS_FOLDER": os.path.join(here, "dags"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
}
os.environ.update(settings)


def airflow(*args):
    program = os.path.join(os.path.dirname(sys.executable), "airflow")
    done = subprocess.run([program, *args], stdout=subprocess.PIPE, text=True, timeout=300)
    sys.stderr.write(done.stdout)
    assert done.returncode == 0, (args, done.stdout[-3000:])
    return done.stdout


if sys.argv[1] == "migrate":
    airflow("db", "migrate")
    sys.exit()

airflow("db", "check-migrations")
airflow("variables", "set", "wood", "oak")
print("variable:", airflow("variables", "get", "wood").split()[-1])
airflow("connections", "add", "mill", "--conn-uri", "http://user:secret@mill:80/path")
print("connection:", "mill" in airflow("connections", "list", "-o", "plain"))
airflow("pools", "set", "saws", "3", "two")
print("pool:", "saws" in airflow("pools", "list", "-o", "plain"))
airflow("dags", "reserialize")
print("dags:", "forest" in airflow("dags", "list", "-o", "plain"))
airflow("dags", "test", "forest", "2026-01-02")
runs = airflow("dags", "list-runs", "forest", "-o", "plain")
print("runs that succeeded:", runs.count("success"))
run = next(line.split()[1] for line in runs.splitlines() if line.startswith("forest"))
states = airflow("tasks", "states-for-dag-run", "forest", run, "-o", "plain")
print("tasks that succeeded:", states.count("success"))
airflow("variables", "delete", "wood")
airflow("db", "clean", "--clean-before-timestamp", "2030-01-01", "--yes", "--skip-archive")
airflow("db", "check")
print("pools after cleaning:", airflow("pools", "list", "-o", "plain").count("saws"))
