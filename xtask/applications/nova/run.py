"""OpenStack's machines: both schemas and cells, then flavors, key pairs and instances as objects."""

import os
import subprocess
import sys
from importlib.metadata import version

if sys.argv[1] == "version":
    print("nova " + version("nova"))
    sys.exit()

folder = os.environ["APPLICATION_FOLDER"]
config = os.path.join(folder, "nova.conf")
database = "mysql+pymysql://{DB_USER}:{DB_PASSWORD}@{DB_HOST}:{DB_PORT}/%s?charset=utf8mb4".format(
    **os.environ
)
api, cell = os.environ["DB_NAME"], os.environ["DB_NAME"] + "_cell"


def manage(*args):
    program = os.path.join(os.path.dirname(sys.executable), "nova-manage")
    done = subprocess.run(
        [program, "--config-file", config, *args], stdout=subprocess.PIPE, text=True
    )
    # 1 says that there was something to archive.
    assert done.returncode == 0 or (
        args[1] == "archive_deleted_rows" and done.returncode == 1
    ), done
    return done.stdout


if sys.argv[1] == "migrate":
    import pymysql

    server = pymysql.connect(
        host=os.environ["DB_HOST"],
        port=int(os.environ["DB_PORT"]),
        user=os.environ["DB_USER"],
        password=os.environ["DB_PASSWORD"],
    )
    for name in (cell, cell + "0"):
        server.cursor().execute(f"DROP DATABASE IF EXISTS {name}")
        server.cursor().execute(f"CREATE DATABASE {name}")
    with open(config, "w") as file:
        file.write(
            f"[api_database]\nconnection = {database % api}\n[database]\nconnection = {database % cell}\n"
            "[DEFAULT]\ntransport_url = fake://\n"
        )
    manage("api_db", "sync")
    manage("cell_v2", "map_cell0", "--database_connection", database % (cell + "0"))
    manage("cell_v2", "create_cell", "--name", "one")
    manage("db", "sync")
    manage("db", "online_data_migrations")
    sys.exit()

print("cells:", manage("cell_v2", "list_cells").count("mysql+pymysql"))
print("schemas:", *[manage(schema, "version").split()[-1] for schema in ("db", "api_db")])

from nova import config as nova_config  # noqa: E402
from nova import context, objects  # noqa: E402
from oslo_utils import uuidutils  # noqa: E402

nova_config.parse_args(["nova", "--config-file", config])
objects.register_all()
admin = context.RequestContext("user", "project", is_admin=True)
for n in range(10):
    flavor = objects.Flavor(
        admin,
        name=f"size{n}",
        flavorid=f"f{n}",
        memory_mb=512 << n,
        vcpus=n + 1,
        root_gb=n,
        ephemeral_gb=0,
        swap=0,
        rxtx_factor=1.0,
        is_public=n % 2 == 0,
        disabled=False,
        vcpu_weight=0,
        extra_specs={"hw:cpu": str(n)},
    )
    flavor.create()
print(
    "flavors of 4 GiB and more:",
    [f.name for f in objects.FlavorList.get_all(admin, filters={"min_memory_mb": 4096})],
)
for n in range(30):
    instance = objects.Instance(
        admin,
        uuid=uuidutils.generate_uuid(),
        project_id="project",
        user_id="user",
        host=f"host{n % 3}",
        vm_state="active" if n % 2 else "stopped",
        display_name=f"vm{n}",
        flavor=flavor,
        old_flavor=None,
        new_flavor=None,
        memory_mb=512,
        vcpus=1,
        root_gb=1,
        ephemeral_gb=0,
        instance_type_id=flavor.id,
        metadata={"n": str(n)},
        system_metadata={},
        image_ref="",
        hostname=f"vm{n}",
    )
    instance.create()
found = objects.InstanceList.get_by_filters(
    admin, {"vm_state": "active", "host": "host1"}, sort_key="display_name", sort_dir="asc"
)
print("active on host1:", [i.display_name for i in found])
found = objects.InstanceList.get_by_filters(
    admin, {"metadata": {"n": "17"}}, expected_attrs=["metadata"]
)
print("by metadata:", [(i.display_name, i.metadata) for i in found])
instance = found[0]
instance.vm_state = "error"
instance.save(expected_vm_state="active")
for n in range(5):
    objects.InstanceList.get_by_host(admin, "host2")[n].destroy()
print("instances left:", len(objects.InstanceList.get_all(admin)))
print(
    "archived:",
    "instances" in manage("db", "archive_deleted_rows", "--until-complete", "--verbose"),
)
