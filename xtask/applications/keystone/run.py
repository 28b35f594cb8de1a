"""OpenStack's identity service: its schema, then projects, users, roles and tokens by its HTTP API."""

import os
import subprocess
import sys
from importlib.metadata import version

if sys.argv[1] == "version":
    print("keystone " + version("keystone"))
    sys.exit()

folder = os.environ["APPLICATION_FOLDER"]
config = os.path.join(folder, "keystone.conf")
database = "mysql+pymysql://{DB_USER}:{DB_PASSWORD}@{DB_HOST}:{DB_PORT}/{DB_NAME}?charset=utf8mb4"


def manage(*args):
    program = os.path.join(os.path.dirname(sys.executable), "keystone-manage")
    subprocess.run([program, "--config-file", config, *args], check=True, stdout=sys.stderr)


if sys.argv[1] == "migrate":
    with open(config, "w") as file:
        file.write(
            f"[DEFAULT]\nlog_file = {folder}/keystone.log\n"
            f"[database]\nconnection = {database.format(**os.environ)}\n"
            f"[fernet_tokens]\nkey_repository = {folder}/tokens\n"
            f"[credential]\nkey_repository = {folder}/credentials\n"
        )
    manage("db_sync")
    sys.exit()

ids = ["--keystone-user", "root", "--keystone-group", "root"]
os.makedirs(f"{folder}/tokens", exist_ok=True)
os.makedirs(f"{folder}/credentials", exist_ok=True)
manage("fernet_setup", *ids)
manage("credential_setup", *ids)
url = "http://localhost/v3/"
manage(
    "bootstrap",
    "--bootstrap-password",
    "secret",
    "--bootstrap-public-url",
    url,
    "--bootstrap-region-id",
    "one",
)
manage("db_sync", "--check")

os.environ["OS_KEYSTONE_CONFIG_FILES"] = config
sys.argv = sys.argv[:1]
from keystone.server.wsgi import initialize_public_application  # noqa: E402
from werkzeug.test import Client  # noqa: E402

client = Client(initialize_public_application())


def ask(method, path, body=None, status=(200, 201, 204), token=None):
    answer = client.open(
        path, method=method, json=body, headers={"X-Auth-Token": token} if token else {}
    )
    assert answer.status_code in status, (method, path, answer.status_code, answer.text)
    return answer


def login(name, password, project, status=(201,)):
    identity = {
        "methods": ["password"],
        "password": {"user": {"name": name, "domain": {"id": "default"}, "password": password}},
    }
    scope = {"project": {"name": project, "domain": {"id": "default"}}}
    answer = ask(
        "POST", "/v3/auth/tokens", {"auth": {"identity": identity, "scope": scope}}, status
    )
    return answer.headers.get("X-Subject-Token")


admin = login("admin", "secret", "admin")
project = ask(
    "POST", "/v3/projects", {"project": {"name": "forest", "domain_id": "default"}}, token=admin
)
project = project.json["project"]["id"]
role = ask("GET", "/v3/roles?name=member", token=admin).json["roles"][0]["id"]
for n in range(20):
    user = {"name": f"user{n}", "password": f"secret{n}", "default_project_id": project}
    user = ask("POST", "/v3/users", {"user": user}, token=admin).json["user"]["id"]
    ask("PUT", f"/v3/projects/{project}/users/{user}/roles/{role}", token=admin)
users = ask("GET", "/v3/users?name__contains=user1", token=admin).json["users"]
print("users that a search finds:", len(users))
mine = login("user7", "secret7", "forest")
login("user7", "wrong", "forest", (401,))
check = client.get("/v3/auth/tokens", headers={"X-Auth-Token": admin, "X-Subject-Token": mine})
print("roles of a token:", sorted(role["name"] for role in check.json["token"]["roles"]))
ask("POST", "/v3/users", {"user": {"name": "user7", "password": "x"}}, (409,), admin)
print("a second user of a name: refused")
ask("DELETE", f"/v3/users/{user}", token=admin)
print("users after deleting one:", len(ask("GET", "/v3/users", token=admin).json["users"]))
assignments = ask(
    "GET", f"/v3/role_assignments?scope.project.id={project}&include_names", token=admin
)
print("assignments:", len(assignments.json["role_assignments"]))
ask("PATCH", f"/v3/projects/{project}", {"project": {"enabled": False}}, token=admin)
login("user7", "secret7", "forest", (401,))
ask("DELETE", f"/v3/projects/{project}", token=admin)
print("projects:", [p["name"] for p in ask("GET", "/v3/projects", token=admin).json["projects"]])
