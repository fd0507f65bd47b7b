package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prey is what an attacker knows of its gateway. A real one guesses better than chance.
type prey struct {
	Gateway, Guardian, Other int // pids; Other is a process of the same user that is not the gateway's
	Home, Config, API        string
	// Abstract and Daemon are unix sockets of another program of the same user.
	Abstract, Daemon string
}

// attack is one way in which a tool turns on its gateway, its machine or its user. try returns nil if it works, errRefused if the gateway itself
// refuses it, and the reason of the kernel otherwise.
type attack struct {
	name string
	try  func(prey) error
	// call is what the audit calls it where the gateway refuses it.
	call string
}

// errRefused is the gateway's own answer to a tool.
var errRefused = errors.New("tool_caller")

// attacks are in the order of core/environment/ATTACKS.md.
var attacks = []attack{
	{"read the status on the control socket", func(p prey) error { return p.control(http.MethodGet, "/v1/status") }, ""},
	{"stop the gateway on the control socket", func(p prey) error { return p.control(http.MethodPost, "/v1/stop") }, "stop"},
	{"drain the gateway on the control socket", func(p prey) error { return p.control(http.MethodPost, "/v1/drain") }, "POST /v1/drain"},
	{"approve a request on the control socket", func(p prey) error { return p.control(http.MethodPost, "/v1/inbox/a1/approve") }, "POST /v1/inbox/{target}/approve"},
	{"read the sessions on the control socket", func(p prey) error { return p.control(http.MethodGet, "/v1/sessions") }, "GET /v1/sessions"},
	{"ask the API", func(p prey) error { return p.api("") }, "GET /v1/models"},
	{"ask the API with the key of the home", func(p prey) error {
		key, err := os.ReadFile(filepath.Join(p.Home, "api.key"))
		if err != nil {
			return err
		}
		return p.api(strings.TrimSpace(string(key)))
	}, "GET /v1/models"},
	{"read the database", func(p prey) error { return canRead(filepath.Join(p.Home, "gateway.db")) }, ""},
	{"read the config", func(p prey) error { return canRead(p.Config) }, ""},
	{"list the home", func(p prey) error { return lists(p.Home) }, ""},
	{"make a file in the home", func(p prey) error { return writeNew(filepath.Join(p.Home, madeByTool)) }, ""},
	{"read a file of the home through a symbolic link", func(p prey) error {
		return through("link", func(at string) error { return os.Symlink(filepath.Join(p.Home, "gateway.db"), at) })
	}, ""},
	{"read a file of the home through a hard link", func(p prey) error {
		return through("hard", func(at string) error { return os.Link(filepath.Join(p.Home, "gateway.db"), at) })
	}, ""},
	{"read a file of the home through dots", func(prey) error { return canRead("../gateway.db") }, ""},
	{"mount the home into the work folder", func(p prey) error { return bindMount(p.Home) }, ""},
	{"mount the home in a new user namespace", func(p prey) error { return inNamespace(p.Home) }, ""},
	{"make a user namespace", func(prey) error { return inNamespace("") }, ""},
	{"read the gateway's environment", func(p prey) error { return canRead(proc(p.Gateway, "environ")) }, ""},
	{"read the guardian's environment", func(p prey) error { return canRead(proc(p.Guardian, "environ")) }, ""},
	{"read the gateway's memory through /proc", func(p prey) error { _, err := os.OpenFile(proc(p.Gateway, "mem"), os.O_RDWR, 0); return err }, ""},
	{"read the gateway's memory with process_vm_readv", func(p prey) error { return readMemory(p.Gateway) }, ""},
	{"trace the gateway", func(p prey) error { return trace(p.Gateway) }, ""},
	{"trace the guardian", func(p prey) error { return trace(p.Guardian) }, ""},
	{"take a descriptor of the gateway", func(p prey) error { return takeDescriptor(p.Gateway) }, ""},
	{"list the gateway's descriptors", func(p prey) error { _, err := os.ReadDir(proc(p.Gateway, "fd")); return err }, ""},
	{"open a descriptor of the gateway through /proc", func(p prey) error { return opens(proc(p.Gateway, "fd/2")) }, ""},
	{"enter the gateway's root folder through /proc", func(p prey) error { _, err := os.ReadDir(proc(p.Gateway, "root")); return err }, ""},
	{"use an inherited descriptor", func(prey) error { return inherited() }, ""},
	{"signal the gateway", func(p prey) error { return signalled(p.Gateway) }, ""},
	{"signal the guardian", func(p prey) error { return signalled(p.Guardian) }, ""},
	{"signal the gateway's process group", func(p prey) error { return group(p.Gateway) }, ""},
	{"signal the gateway through a pidfd", func(p prey) error { return throughPidfd(p.Gateway) }, ""},
	{"signal another process of the user", func(p prey) error { return signalled(p.Other) }, ""},
	{"lower the gateway's limits", func(p prey) error { return limits(p.Gateway) }, ""},
	{"make the gateway the first to be killed for memory", func(p prey) error { return writeTo(proc(p.Gateway, "oom_score_adj"), "1000") }, ""},
	{"leave the control group", func(prey) error { return leaveGroup() }, ""},
	{"connect to an abstract socket of another program", func(p prey) error { return dials(p.Abstract) }, ""},
	{"connect to a socket of another program of the user", func(p prey) error { return dials(p.Daemon) }, ""},
	{"make a device", func(prey) error { return device() }, ""},
	{"read the password file", func(prey) error { return canRead("/etc/shadow") }, ""},
	{"change a program of the system", func(prey) error { return makeFile("/usr/bin/new-of-a-tool") }, ""},
	{"change a parameter of the kernel", func(prey) error { return writeBack("/proc/sys/kernel/core_pattern") }, ""},
}

// Names of the attacker's programs: the first argument of the tests' own binary.
const (
	attackEverything = "attack"
	attackMount      = "attack-mount"
)

// attacker runs the program that args name, and reports whether it is one.
func attacker(args []string) (code int, is bool) {
	if len(args) != 3 {
		return 0, false
	}
	switch args[1] {
	case attackEverything:
		return attackAll(args[2]), true
	case attackMount:
		if args[2] == "" {
			return 0, true
		}
		if err := mountAt(args[2]); err != nil {
			fmt.Println(err)
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// attackAll is the program of an attacker, which prints a line for each attack.
func attackAll(file string) int {
	var p prey
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(environmentIs + surroundings())
	for _, a := range attacks {
		switch err := a.try(p); {
		case err == nil:
			fmt.Printf("%s: possible\n", a.name)
		case errors.Is(err, errRefused):
			fmt.Printf("%s: refused\n", a.name)
		default:
			fmt.Printf("%s: held: %s\n", a.name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	return 0
}

// environmentIs begins the line with the kind of the environment that the attacker sees itself in.
const environmentIs = "kind of environment: "

func surroundings() string {
	name, _ := os.Hostname()
	status, _ := os.ReadFile("/proc/self/status")
	switch {
	case name == "sandbox":
		return "sandbox"
	case bytes.Contains(status, []byte("Seccomp:\t2")):
		return "partial"
	}
	return "local"
}

func (p prey) control(method, path string) error {
	dial := func() (net.Conn, error) { return net.Dial("unix", filepath.Join(p.Home, "control.sock")) }
	return demand(dial, method, "http://gateway"+path, "")
}

func (p prey) api(key string) error {
	return demand(func() (net.Conn, error) { return net.Dial("tcp", p.API) }, http.MethodGet, "http://"+p.API+"/v1/models", key)
}

func demand(dial func() (net.Conn, error), method, url, key string) error {
	conn, err := dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	req, err := http.NewRequest(method, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	var out bytes.Buffer
	if err := req.Write(&out); err != nil {
		return err
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 4<<10))
	switch {
	case bytes.Contains(answer, []byte("tool_caller")):
		return errRefused
	case bytes.HasPrefix(answer, []byte("HTTP/1.1 2")):
		return nil
	}
	return fmt.Errorf("answered %.100q, %w", answer, errors.Join(err, errors.New("which is no success")))
}

func proc(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// canRead returns nil if a byte of the file is read.
func canRead(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 1))
	return err
}

// lists returns nil if the folder is the real home: a sandbox may have an empty one at its place.
func lists(home string) error {
	entries, err := os.ReadDir(home)
	if err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "gateway.db" }) {
		return errors.New("it is another folder")
	}
	return err
}

// madeByTool is the name of a file that an attacker leaves in the home. If it is not there afterwards, the attack has hit another folder.
const madeByTool = "new-of-a-tool"

func writeNew(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func opens(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(path))
}

func writeTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// writeBack writes to a file what it has.
func writeBack(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return writeTo(path, string(text))
}

func through(name string, link func(at string) error) error {
	at, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if err := link(at); err != nil {
		return err
	}
	defer os.Remove(at)
	return canRead(at)
}

// mountPoint is a folder of the attacker's.
const mountPoint = "mount"

func bindMount(from string) error {
	if err := os.Mkdir(mountPoint, 0o700); err != nil {
		return err
	}
	defer os.Remove(mountPoint)
	return mountAt(from)
}

func mountAt(from string) error {
	if err := unix.Mount(from, mountPoint, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return errors.Join(canRead(filepath.Join(mountPoint, "gateway.db")), unix.Unmount(mountPoint, unix.MNT_DETACH))
}

// inNamespace runs this program in a user and mount namespace of its own. With a folder it is root there, and mounts that.
func inNamespace(home string) error {
	if err := os.Mkdir(mountPoint, 0o700); err != nil { // not inside, where the user has no name
		return err
	}
	defer os.Remove(mountPoint)
	cmd := exec.Command("/proc/self/exe", attackMount, home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
	if home != "" {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func readMemory(pid int) error {
	maps, err := os.ReadFile(proc(pid, "maps"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(maps), "-")
	at, err := strconv.ParseUint(first, 16, 64)
	if err != nil {
		return err
	}
	buf := make([]byte, 16)
	_, err = unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: 16}}, []unix.RemoteIovec{{Base: uintptr(at), Len: 16}}, 0)
	return err
}

func trace(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	_ = unix.PtraceInterrupt(pid)
	var status unix.WaitStatus
	_, _ = unix.Wait4(pid, &status, unix.WALL, nil)
	return unix.PtraceDetach(pid)
}

func takeDescriptor(pid int) error {
	at, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	fd, err := unix.PidfdGetfd(at, 2, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// inherited returns nil if the attacker has a descriptor above the three standard ones that it did not open.
func inherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		fd, _ := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 || strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/proc/") {
			continue // the runtime's own
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			return nil
		}
	}
	return errors.New("there is none")
}

// harmless is a signal that a gateway does not mind. The kernel asks for the same right as with SIGKILL.
const harmless = unix.SIGWINCH

func signalled(pid int) error { return unix.Kill(pid, harmless) }

func group(pid int) error {
	stat, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	pgid, err := strconv.Atoi(fields[2])
	if err != nil {
		return err
	}
	return unix.Kill(-pgid, harmless)
}

func throughPidfd(pid int) error {
	at, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return unix.PidfdSendSignal(at, harmless, nil, 0)
}

// limits sets a limit of the process to what it is.
func limits(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_CPU, &now, nil)
}

// leaveGroup moves the attacker into the topmost control group.
func leaveGroup() error {
	for _, root := range []string{"/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs"} {
		if _, err := os.Stat(root); err != nil && !errors.Is(err, os.ErrNotExist) || err == nil {
			return writeTo(root, strconv.Itoa(os.Getpid()))
		}
	}
	return errors.New("there are no control groups here")
}

func dials(name string) error {
	conn, err := net.Dial("unix", name)
	if err != nil {
		return err
	}
	return conn.Close()
}

func device() error {
	at, err := filepath.Abs("device")
	if err != nil {
		return err
	}
	if err := unix.Mknod(at, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 8))); err != nil {
		return err
	}
	defer os.Remove(at)
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	return f.Close()
}
