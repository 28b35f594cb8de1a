"""OpenStack's networks: its schema by every migration, then networks, subnets and ports as objects."""

import os
import subprocess
import sys
from importlib.metadata import version

if sys.argv[1] == "version":
    print("neutron " + version("neutron"))
    sys.exit()

folder = os.environ["APPLICATION_FOLDER"]
config = os.path.join(folder, "neutron.conf")
database = "mysql+pymysql://{DB_USER}:{DB_PASSWORD}@{DB_HOST}:{DB_PORT}/{DB_NAME}?charset=utf8mb4"


def manage(*args):
    program = os.path.join(os.path.dirname(sys.executable), "neutron-db-manage")
    subprocess.run([program, "--config-file", config, *args], check=True, stdout=subprocess.DEVNULL)


if sys.argv[1] == "migrate":
    with open(config, "w") as file:
        file.write(
            f"[DEFAULT]\ncore_plugin = ml2\n[database]\nconnection = {database.format(**os.environ)}\n"
        )
    manage("upgrade", "heads")
    sys.exit()

manage("check_migration")
manage("has_offline_migrations")

import netaddr  # noqa: E402
from neutron.common import config as neutron_config  # noqa: E402
from neutron.objects import network, ports, securitygroup, subnet  # noqa: E402
from neutron_lib import context  # noqa: E402
from neutron_lib.db import api as database_api  # noqa: E402
from oslo_utils import uuidutils  # noqa: E402

neutron_config.register_common_config_options()
neutron_config.init(["--config-file", config])
admin = context.get_admin_context()
project = uuidutils.generate_uuid(dashed=False)


@database_api.retry_db_errors
def fill(context):
    with database_api.CONTEXT_WRITER.using(context):
        group = securitygroup.SecurityGroup(
            context, id=uuidutils.generate_uuid(), name="web", project_id=project, is_default=False
        )
        group.create()
        for n in range(5):
            net = network.Network(
                context,
                id=uuidutils.generate_uuid(),
                name=f"net{n}",
                project_id=project,
                admin_state_up=True,
                status="ACTIVE",
                mtu=1500,
            )
            net.create()
            part = subnet.Subnet(
                context,
                network_id=net.id,
                cidr=netaddr.IPNetwork(f"10.{n}.0.0/24"),
                ip_version=4,
                name=f"part{n}",
                project_id=project,
                enable_dhcp=True,
            )
            part.create()
            for m in range(10):
                port = ports.Port(
                    context,
                    network_id=net.id,
                    project_id=project,
                    admin_state_up=True,
                    status="DOWN",
                    device_id="",
                    device_owner="compute",
                    name=f"port{n}-{m}",
                    mac_address=netaddr.EUI(f"fa-16-3e-00-{n:02x}-{m:02x}"),
                )
                port.security_group_ids = {group.id}
                port.create()
                ports.IPAllocation(
                    context,
                    port_id=port.id,
                    subnet_id=part.id,
                    network_id=net.id,
                    ip_address=netaddr.IPAddress(f"10.{n}.0.{m + 2}"),
                ).create()


fill(admin)
print("networks:", network.Network.count(admin), "ports:", ports.Port.count(admin))
net = network.Network.get_objects(admin, name="net3")[0]
mine = ports.Port.get_objects(admin, network_id=net.id)
print("ports of net3:", sorted(p.name for p in mine)[:3], len(mine))
print("addresses:", sorted(str(p.fixed_ips[0].ip_address) for p in mine)[:3])
mine[0].name = "renamed"
mine[0].update()
try:
    with database_api.CONTEXT_WRITER.using(admin):
        ports.Port(
            admin,
            network_id=net.id,
            project_id=project,
            admin_state_up=True,
            status="DOWN",
            device_id="",
            device_owner="",
            mac_address=mine[0].mac_address,
        ).create()
    print("a second port of an address: taken")
except Exception as e:
    print("a second port of an address:", type(e).__name__)
for port in mine:
    port.delete()
print(
    "ports after deleting those of net3:", ports.Port.count(admin), ports.IPAllocation.count(admin)
)
