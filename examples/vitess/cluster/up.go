package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

func (c *cluster) up() error {
	for _, folder := range []string{c.logs(), c.pids(), c.data()} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if c.asNobody {
			if err := os.Chown(folder, nobody, nobody); err != nil {
				return err
			}
		}
	}
	if err := c.startTopology(); err != nil {
		return err
	}
	for _, s := range atFirst {
		if err := c.startShard(s); err != nil {
			return err
		}
	}
	if err := c.startVtgate(); err != nil {
		return err
	}
	for _, s := range resharded {
		if _, err := os.Stat(filepath.Join(c.data(), s.duramen())); err == nil {
			if err := c.startShard(s); err != nil {
				return err
			}
		}
	}
	fmt.Printf("Vitess is up. mysql --host=127.0.0.1 --port=%d shop\n", c.mysqlPort())
	return nil
}

// What etcd holds is told to all of Vitess's servers in the same way.
func (c *cluster) topology() []string {
	return []string{
		"--topo_implementation=etcd2", flag("topo_global_server_address", address(c.etcdPort())),
		"--topo_global_root=/vitess/global", "--logtostderr", "--bind-address=127.0.0.1",
		"--grpc_bind_address=127.0.0.1",
	}
}

func (c *cluster) startTopology() error {
	err := c.start("etcd", "etcd", flag("data-dir", filepath.Join(c.data(), "etcd")),
		flag("listen-client-urls", url(c.etcdPort())), flag("advertise-client-urls", url(c.etcdPort())),
		flag("listen-peer-urls", url(c.etcdPeerPort())), flag("initial-advertise-peer-urls", url(c.etcdPeerPort())),
		flag("initial-cluster", "default="+url(c.etcdPeerPort())), "--log-level=warn")
	if err != nil {
		return err
	}
	if err := c.waitForPort("etcd", c.etcdPort()); err != nil {
		return err
	}
	err = c.start("vtctld", "vtctld", append(c.topology(), flag("cell", cell),
		"--service_map=grpc-vtctl,grpc-vtctld", flag("port", c.vtctldPort()),
		flag("grpc_port", c.vtctldGrpcPort()))...)
	if err != nil {
		return err
	}
	if err := c.waitForPort("vtctld", c.vtctldGrpcPort()); err != nil {
		return err
	}
	if _, err := c.vtctld("GetCellInfo", cell); err == nil {
		return nil // not the first start
	}
	_, err = c.vtctld("AddCellInfo", "--root=/vitess/"+cell, flag("server-address", address(c.etcdPort())), cell)
	if err != nil {
		return err
	}
	for _, keyspace := range []string{"commerce", "shop"} {
		if _, err := c.vtctld("CreateKeyspace", "--durability-policy=none", keyspace); err != nil {
			return err
		}
	}
	return nil
}

// Starts the Duramen of a shard, and its tablet, which becomes the shard's primary.
func (c *cluster) startShard(s shard) error {
	if err := c.startDuramen(s); err != nil {
		return err
	}
	if err := c.createAccount(s); err != nil {
		return err
	}
	if err := c.startTablet(s); err != nil {
		return err
	}
	// Vitess does not choose an unmanaged tablet as primary: it is told.
	return eventually(30*time.Second, func() error {
		_, err := c.vtctld("TabletExternallyReparented", s.alias())
		return err
	})
}

func (c *cluster) startDuramen(s shard) error {
	err := c.start(s.duramen(), "duramen", "serve", flag("datadir", filepath.Join(c.data(), s.duramen())),
		flag("port", c.duramenPort(s)), flag("socket", c.socket(s)), flag("server-id", s.number+1))
	if err != nil {
		return err
	}
	return c.waitForPort(s.duramen(), c.duramenPort(s))
}

// A tablet asks for a password, and for a socket: it prepares no transaction over a network. The account has what Vitess's own init_db.sql gives to its.
func (c *cluster) createAccount(s shard) error {
	db, err := sql.Open("mysql", fmt.Sprintf("root@tcp(%s)/", address(c.duramenPort(s))))
	if err != nil {
		return err
	}
	defer db.Close()
	statements := []string{
		fmt.Sprintf("CREATE USER IF NOT EXISTS %s@localhost IDENTIFIED BY '%s'", account, password),
		fmt.Sprintf("GRANT ALL ON *.* TO %s@localhost", account),
		"CREATE DATABASE IF NOT EXISTS " + s.database(),
	}
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (c *cluster) startTablet(s shard) error {
	args := append(c.topology(), flag("tablet-path", s.alias()), "--tablet_hostname=127.0.0.1",
		flag("init_keyspace", s.keyspace), flag("init_shard", s.name), "--init_tablet_type=replica",
		flag("port", c.tabletPort(s)), flag("grpc_port", c.tabletGrpcPort(s)),
		"--service_map=grpc-queryservice,grpc-tabletmanager,grpc-updatestream",
		"--unmanaged", flag("db_socket", c.socket(s)),
		"--health_check_interval=2s", "--shutdown_grace_period=2s", "--queryserver-config-schema-reload-time=10s",
		"--track_schema_versions", "--watch_replication_stream", "--migration_check_interval=5s",
		"--queryserver-config-transaction-timeout=5s", "--twopc_enable", "--twopc_abandon_age=3")
	for _, user := range []string{"app", "appdebug", "allprivs", "repl", "filtered", "dba"} {
		args = append(args, flag("db_"+user+"_user", account), flag("db_"+user+"_password", password))
	}
	if err := c.start(s.tablet(), "vttablet", args...); err != nil {
		return err
	}
	return c.waitForPort(s.tablet(), c.tabletGrpcPort(s))
}

func (c *cluster) startVtgate() error {
	err := c.start("vtgate", "vtgate", append(c.topology(), flag("cell", cell), flag("cells_to_watch", cell),
		"--tablet_types_to_wait=PRIMARY", "--gateway_initial_tablet_timeout=5s", flag("port", c.vtgatePort()), flag("grpc_port", c.vtgateGrpcPort()),
		flag("mysql_server_port", c.mysqlPort()), "--mysql_server_bind_address=127.0.0.1",
		"--mysql_auth_server_impl=none", "--service_map=grpc-vtgateservice", "--enable_buffer",
		"--schema_change_signal", "--tablet_refresh_interval=5s", "--onterm_timeout=2s")...)
	if err != nil {
		return err
	}
	return c.waitForPort("vtgate", c.mysqlPort())
}

func (c *cluster) down(clean bool) error {
	names := []string{"vtgate"}
	for _, s := range append(append([]shard{}, resharded...), atFirst...) {
		names = append(names, s.tablet(), s.duramen())
	}
	for _, name := range append(names, "vtctld", "etcd") {
		if err := c.end(name, syscall.SIGTERM); err != nil {
			return err
		}
	}
	if !clean {
		return nil
	}
	for _, folder := range []string{c.logs(), c.pids(), c.data()} {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	return nil
}
