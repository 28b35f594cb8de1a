"""Identities: the server's schema by all changes at its first start, then a realm, clients, users,
groups, logins, searches and deletes by its HTTP API."""

import glob
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

home = glob.glob(os.path.join(os.environ["APPLICATION_ROOT"], "keycloak-*/"))[0]
if sys.argv[1] == "version":
    print("Keycloak " + re.search(r"keycloak-([\d.]+\d)", home)[1])
    sys.exit()

with socket.socket() as free, socket.socket() as other:
    free.bind(("127.0.0.1", 0))
    other.bind(("127.0.0.1", 0))
    port, management = free.getsockname()[1], other.getsockname()[1]
environment = dict(
    os.environ,
    KC_DB="mysql",
    KC_DB_URL="jdbc:mysql://{DB_HOST}:{DB_PORT}/{DB_NAME}?allowPublicKeyRetrieval=true&sslMode=DISABLED".format(
        **os.environ
    ),
    KC_DB_USERNAME=os.environ["DB_USER"],
    KC_DB_PASSWORD=os.environ["DB_PASSWORD"],
    KC_BOOTSTRAP_ADMIN_USERNAME="admin",
    KC_BOOTSTRAP_ADMIN_PASSWORD="secret",
    KC_HTTP_HOST="127.0.0.1",
    KC_HTTP_PORT=str(port),
    KC_HTTP_MANAGEMENT_PORT=str(management),
)
url = f"http://127.0.0.1:{port}"
# By the start script's `exec` this is the server itself.
server = subprocess.Popen(
    ["sh", os.path.join(home, "bin/kc.sh"), "start-dev", "--cache=local"],
    env=environment,
    stdout=sys.stderr,
    start_new_session=True,
)
token = None


def ask(method, path, body=None, status=(200, 201, 204), form=False):
    data = None
    if body is not None:
        data = (urllib.parse.urlencode(body) if form else json.dumps(body)).encode()
    kind = "application/x-www-form-urlencoded" if form else "application/json"
    headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        answer = urllib.request.urlopen(
            urllib.request.Request(url + path, data, headers, method=method)
        )
    except urllib.error.HTTPError as e:
        answer = e
    text = answer.read().decode()
    assert answer.status in status, (method, path, answer.status, text)
    return json.loads(text) if text.startswith(("{", "[")) else text


def login(realm, user, password, status=(200,), client="admin-cli"):
    form = {"grant_type": "password", "client_id": client, "username": user, "password": password}
    return ask("POST", f"/realms/{realm}/protocol/openid-connect/token", form, status, form=True)


def use():
    global token
    token = login("master", "admin", "secret")["access_token"]
    ask("POST", "/admin/realms", {"realm": "forest", "enabled": True, "eventsEnabled": True})
    ask("POST", "/admin/realms", {"realm": "forest"}, (409,))
    admin = "/admin/realms/forest"
    ask(
        "POST",
        f"{admin}/clients",
        {
            "clientId": "shop",
            "publicClient": True,
            "directAccessGrantsEnabled": True,
            "redirectUris": ["http://localhost/*"],
            "attributes": {"a": "b"},
        },
    )
    ask("POST", f"{admin}/roles", {"name": "forester"})
    ask("POST", f"{admin}/groups", {"name": "north"})
    group = ask("GET", f"{admin}/groups?search=nor")[0]["id"]
    role = ask("GET", f"{admin}/roles/forester")
    for n in range(30):
        user = {
            "username": f"user{n}",
            "email": f"u{n}@example.com",
            "firstName": "U",
            "lastName": f"L{n % 3}",
            "enabled": True,
            "credentials": [{"type": "password", "value": f"secret{n}"}],
            "groups": ["/north"],
        }
        ask("POST", f"{admin}/users", user)
    ask("POST", f"{admin}/users", {"username": "user1"}, (409,))
    print(
        "users found:",
        [u["username"] for u in ask("GET", f"{admin}/users?search=user1&first=0&max=4")],
    )
    print(
        "by name:",
        len(ask("GET", f"{admin}/users?lastName=L2&max=100")),
        ask("GET", f"{admin}/users/count?search=u2"),
    )
    user = ask("GET", f"{admin}/users?username=user7&exact=true")[0]["id"]
    ask("POST", f"{admin}/users/{user}/role-mappings/realm", [role])
    print(
        "members:",
        len(ask("GET", f"{admin}/groups/{group}/members?max=100")),
        len(ask("GET", f"{admin}/roles/forester/users")),
    )
    admins, token = token, None
    mine = login("forest", "user7", "secret7", client="shop")
    login("forest", "user7", "wrong", (401,), client="shop")
    ask(
        "POST",
        "/realms/forest/protocol/openid-connect/token",
        {
            "grant_type": "refresh_token",
            "client_id": "shop",
            "refresh_token": mine["refresh_token"],
        },
        form=True,
    )
    token = admins
    print("sessions:", len(ask("GET", f"{admin}/users/{user}/sessions")))
    print("events:", sorted({e["type"] for e in ask("GET", f"{admin}/events?max=50")}))
    ask("DELETE", f"{admin}/users/{user}")
    ask("DELETE", f"{admin}/groups/{group}")
    print("users left:", ask("GET", f"{admin}/users/count"))
    ask("POST", f"{admin}/partial-export?exportClients=true&exportGroupsAndRoles=true")
    ask("DELETE", admin)
    print("realms:", [r["realm"] for r in ask("GET", "/admin/realms")])


try:
    for tries in range(1200):
        assert server.poll() is None, "the server ended at its start"
        try:
            ask("GET", "/realms/master")
            break
        except (OSError, AssertionError):
            time.sleep(0.2)
    if sys.argv[1] == "use":
        use()
finally:
    os.killpg(server.pid, 15)
    server.wait()
