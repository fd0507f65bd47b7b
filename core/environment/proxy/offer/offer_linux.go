package offer

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gatewaytui/core/environment/step"
)

// port is where the proxy is if nothing else listens there, so that files of the agent's home may name it. It is squid's.
const port = 3128

// answerMost is how long the gateway may take to accept the listener, in seconds.
const answerMost = 10

func init() {
	if len(os.Args) > 2 && os.Args[1] == title {
		os.Exit(become(os.Args[2:]))
	}
}

// become hands a listener over and turns this process into the command behind "--".
func become(args []string) int {
	if len(args) < 3 || args[1] != "--" {
		step.Say("invalid arguments of the step before a command")
		return step.NotRun
	}
	at, err := offer(args[0])
	if err != nil {
		step.Say("the command was not started, because its way to the network could not be set up: " + err.Error())
		return step.NotRun
	}
	return step.Exec(args[2:], environment(os.Environ(), at))
}

// offer listens and hands the listener to the gateway. It returns the port.
func offer(socket string) (at int, err error) {
	l, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(l)
	loopback := [4]byte{127, 0, 0, 1}
	if err = syscall.Bind(l, &syscall.SockaddrInet4{Addr: loopback, Port: port}); err != nil {
		err = syscall.Bind(l, &syscall.SockaddrInet4{Addr: loopback})
	}
	if err == nil {
		err = syscall.Listen(l, 128)
	}
	if err != nil {
		return 0, errors.New("listen on 127.0.0.1: " + err.Error())
	}
	name, err := syscall.Getsockname(l)
	if err != nil {
		return 0, err
	}
	if err := handOver(socket, l); err != nil {
		return 0, err
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}

// handOver sends the listener l and waits until the gateway serves it. The path of the socket may be longer than a socket's address, so
// that it is named by the descriptor of its folder.
func handOver(socket string, l int) error {
	i := strings.LastIndexByte(socket, '/')
	const openPath = 0x200000 // O_PATH
	folder, err := syscall.Open(socket[:max(i, 0)], openPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return errors.New("find the gateway's proxy: " + err.Error())
	}
	defer syscall.Close(folder)
	socket = "/proc/self/fd/" + strconv.Itoa(folder) + socket[i:]
	way, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(way)
	bound := syscall.Timeval{Sec: answerMost}
	_ = syscall.SetsockoptTimeval(way, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &bound)
	_ = syscall.SetsockoptTimeval(way, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &bound)
	if err := syscall.Connect(way, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return errors.New("connect to the gateway's proxy: " + err.Error())
	}
	err = syscall.Sendmsg(way, []byte{1}, syscall.UnixRights(l), nil, 0)
	n := 0
	if err == nil {
		n, err = syscall.Read(way, make([]byte, 1))
	}
	switch {
	case n == 1:
		return nil
	case err == nil, err == syscall.EPIPE, err == syscall.ECONNRESET:
		return errors.New("the gateway's proxy refused: too many commands of this session run at once, or it is closing")
	}
	return errors.New("hand the listener to the gateway's proxy: " + err.Error())
}

// environment is env with the proxy at the port at and no other. Node reads the variables only if NODE_USE_ENV_PROXY says so.
func environment(env []string, at int) []string {
	url := "http://127.0.0.1:" + strconv.Itoa(at)
	set := []string{"HTTP_PROXY=" + url, "HTTPS_PROXY=" + url, "ALL_PROXY=" + url, "NO_PROXY=localhost,127.0.0.1,::1"}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"}, strings.ToUpper(name)) || name == "NODE_USE_ENV_PROXY"
	})
	for _, kv := range set {
		name, value, _ := strings.Cut(kv, "=")
		env = append(env, kv, strings.ToLower(name)+"="+value)
	}
	return append(env, "NODE_USE_ENV_PROXY=1")
}
