// Package landlock restricts a command by the kernel's own means, without a namespace and without root: the environment
// of kind partial (TR6). It is the floor where bubblewrap does not work.
//
// What it promises of a command that Rules.Argv starts, and of everything that this command starts:
//
//   - It opens, makes, changes and removes files only below the paths of its rules. Its own attempt to mount is refused.
//   - It does not read the memory or the environment of a process outside, and does not trace one (landlock(7)).
//   - It gains no privilege by exec (no_new_privs), and as root it keeps only the capabilities that work on files need.
//   - Without network it has no TCP and, where Filters reports true, no UDP and no other protocol.
//   - Where Filters reports true it makes no unix socket, so that it reaches no daemon of its user: not the control socket,
//     Docker, tmux or a service manager. socketpair(2) works.
//   - Where Filters reports true it changes no limit of another process.
//   - From ABI 6 on it signals no process outside of it and reaches no abstract unix socket outside of it.
//   - What cannot be kept is refused: the command does not start, and its stderr says why. Nothing is left out in silence.
//
// It does not promise what a sandbox does: other processes are listed, /proc can be read, and what stat(2) says of files
// elsewhere can be read.
//
// The restriction is set between fork and exec, by this same program under hidden arguments. A binary that imports this
// package becomes that step in its init and never reaches main. It imports next to nothing so that it is set up early;
// core/process/guardian explains the order.
package landlock

import "strconv"

// title is the first argument of the step between fork and exec.
const title = "gatewaytui-restrict"

// The rights of one path, as the hidden arguments name them.
const (
	toRead  = "read="  // read files, list folders, run programs
	toWrite = "write=" // everything, also devices
	closed  = "closed" // no network
	toUnset = "unset=" // a variable that the command does not get
)

// Rules say what a command may do.
type Rules struct {
	// Read are files and folders that it may read and run, Write those that it may change as well. Each is absolute, and
	// names no symbolic link on its way: a link that appears in it later is not followed, and the command does not start.
	// A path of Read that does not exist is left out; one of Write is an error of the command.
	Read, Write []string
	// Network lets it use the network.
	Network bool
	// Unset are names of variables that it does not get.
	Unset []string
}

// Argv is the command argv under the rules. argv[0] is searched for in the PATH of the command's own environment. The
// first element is this program, as the child of this process sees it.
func (r Rules) Argv(argv []string) []string {
	out := make([]string, 0, len(r.Read)+len(r.Write)+len(r.Unset)+len(argv)+4)
	out = append(out, "/proc/self/exe", title)
	for _, path := range r.Read {
		out = append(out, toRead+path)
	}
	for _, path := range r.Write {
		out = append(out, toWrite+path)
	}
	for _, name := range r.Unset {
		out = append(out, toUnset+name)
	}
	if !r.Network {
		out = append(out, closed)
	}
	return append(append(out, "--"), argv...)
}

// Describe says in a few words what the kernel's version abi keeps, for a row and for doctor. filters is what Filters
// reports.
func Describe(abi int, filters bool) string {
	if abi == 0 {
		return "this kernel has no landlock"
	}
	keeps := "landlock ABI " + strconv.Itoa(abi) + ": files"
	if abi >= abiTCP {
		keeps += ", TCP"
	}
	if filters {
		keeps += ", other protocols, unix sockets"
	}
	if abi >= abiScope {
		return keeps + ", signals"
	}
	return keeps + "; signals to other processes of the same user are possible"
}

// The versions of the kernel's interface that add a restriction (landlock(7)).
const (
	abiRefer    = 2 // Linux 5.19
	abiTruncate = 3 // 6.2
	abiTCP      = 4 // 6.7
	abiDevices  = 5 // 6.10
	abiScope    = 6 // 6.12
)
