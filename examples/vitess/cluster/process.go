package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The user nobody, as whom everything runs where root starts it.
const nobody = 65534

// Starts a program in the background; its output is appended to log/NAME.log, its process id is in
// pid/NAME. It lives on when this one ends.
func (c *cluster) start(name, program string, args ...string) error {
	if pid, alive := c.running(name); alive {
		return fmt.Errorf("%s runs already, as process %d: run down first", name, pid)
	}
	log, err := os.OpenFile(filepath.Join(c.logs(), name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(filepath.Join(c.bin, program), args...)
	command.Stdout, command.Stderr, command.Dir = log, log, c.data()
	command.Env = append(os.Environ(), "VTDATAROOT="+c.data(), "HOME="+c.data())
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.asNobody {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("%s does not start: %w", name, err)
	}
	pid := command.Process.Pid
	// Collects its exit status, so that a killed child does not look alive.
	go func() { _ = command.Wait() }()
	return os.WriteFile(filepath.Join(c.pids(), name), []byte(strconv.Itoa(pid)), 0o644)
}

// Its process id, and whether a program of ours runs under it: a number that was given to another
// program since then is not taken for it.
func (c *cluster) running(name string) (int, bool) {
	text, err := os.ReadFile(filepath.Join(c.pids(), name))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, false
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	program = strings.TrimSuffix(program, " (deleted)")
	return pid, err == nil && filepath.Dir(program) == c.bin
}

// Sends the signal and waits until the process is gone; one that does not go is killed.
func (c *cluster) end(name string, signal syscall.Signal) error {
	pid, alive := c.running(name)
	if alive {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("%s, process %d, can't be signaled: %w", name, pid, err)
		}
	}
	for i := 0; alive; i++ {
		if i == 300 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if i == 400 {
			return fmt.Errorf("%s, process %d, does not end", name, pid)
		}
		time.Sleep(50 * time.Millisecond)
		_, alive = c.running(name)
	}
	if err := os.Remove(filepath.Join(c.pids(), name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Waits until the program listens on the port.
func (c *cluster) waitForPort(name string, port int) error {
	for i := 0; i < 600; i++ {
		if connection, err := net.DialTimeout("tcp", address(port), time.Second); err == nil {
			return connection.Close()
		}
		if _, alive := c.running(name); !alive {
			return fmt.Errorf("%s ended: see %s", name, filepath.Join(c.logs(), name+".log"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s does not listen on port %d: see %s", name, port, filepath.Join(c.logs(), name+".log"))
}

// Tries until there is no error; the last one if time is over.
func eventually(limit time.Duration, try func() error) error {
	until := time.Now().Add(limit)
	for {
		err := try()
		if err == nil || time.Now().After(until) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Runs vtctldclient and returns what it prints.
func (c *cluster) vtctld(args ...string) (string, error) {
	args = append([]string{flag("server", address(c.vtctldGrpcPort())), "--action_timeout=180s"}, args...)
	command := exec.Command(filepath.Join(c.bin, "vtctldclient"), args...)
	if c.asNobody {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	output, err := command.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("vtctldclient %s: %w\n%s", strings.Join(args[2:], " "), err, output)
	}
	return string(output), nil
}
