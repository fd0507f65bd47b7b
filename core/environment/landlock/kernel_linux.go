package landlock

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Numbers of linux/landlock.h, linux/prctl.h, linux/openat2.h and linux/capability.h, which are the same on every
// architecture. Package unix has them, but would be set up too late.
const (
	sysCreateRuleset = 444
	sysAddRule       = 445
	sysRestrictSelf  = 446
	sysOpenat2       = 437

	createVersion = 1 // LANDLOCK_CREATE_RULESET_VERSION
	pathBeneath   = 1 // LANDLOCK_RULE_PATH_BENEATH

	fsExecute   = 1 << 0
	fsWriteFile = 1 << 1
	fsReadFile  = 1 << 2
	fsReadDir   = 1 << 3
	fsFirst     = 1<<13 - 1 // what ABI 1 has
	fsRefer     = 1 << 13
	fsTruncate  = 1 << 14
	fsDevices   = 1 << 15
	fsOfFile    = fsExecute | fsWriteFile | fsReadFile | fsTruncate | fsDevices // what a rule on a file can have
	netTCP      = 1<<0 | 1<<1                                                   // bind and connect
	scopeBoth   = 1<<0 | 1<<1                                                   // abstract unix sockets and signals

	prSetNoNewPrivs  = 38
	openPath         = 0x200000 // O_PATH
	resolveNoLinks   = 0x04 | 0x02
	atFDCWD          = -100
	capabilityFormat = 0x20080522 // _LINUX_CAPABILITY_VERSION_3
)

// ABI is the version of landlock that this kernel has, 0 if it has none or does not use it.
func ABI() int {
	abi, _, errno := syscall.RawSyscall(sysCreateRuleset, 0, 0, createVersion)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// rulesetAttr is struct landlock_ruleset_attr. Earlier kernels take the first fields of it.
type rulesetAttr struct{ fs, net, scoped uint64 }

// handled are the restrictions that the version abi has, and the size of their struct.
func handled(abi int, network bool) (attr rulesetAttr, size uintptr) {
	attr.fs, size = fsFirst, 8
	if abi >= abiRefer {
		attr.fs |= fsRefer
	}
	if abi >= abiTruncate {
		attr.fs |= fsTruncate
	}
	if abi >= abiTCP {
		size = 16
		if !network {
			attr.net = netTCP
		}
	}
	if abi >= abiDevices {
		attr.fs |= fsDevices
	}
	if abi >= abiScope {
		attr.scoped, size = scopeBoth, 24
	}
	return attr, size
}

func createRuleset(attr *rulesetAttr, size uintptr) (fd int, err error) {
	r, _, errno := syscall.RawSyscall(sysCreateRuleset, uintptr(unsafe.Pointer(attr)), size, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// allow adds to the ruleset that what is at path has the rights of access that apply to it.
func allow(ruleset int, path string, access uint64) error {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	how := struct{ flags, mode, resolve uint64 }{openPath | syscall.O_CLOEXEC, 0, resolveNoLinks}
	cwd := atFDCWD
	r, _, errno := syscall.RawSyscall6(sysOpenat2, uintptr(cwd), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(int(r))
	var st syscall.Stat_t
	if err := syscall.Fstat(int(r), &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		access &= fsOfFile
	}
	var rule [12]byte // struct landlock_path_beneath_attr, which is packed
	*(*uint64)(unsafe.Pointer(&rule[0])) = access
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(r)
	if _, _, errno := syscall.RawSyscall6(sysAddRule, uintptr(ruleset), pathBeneath, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func restrictSelf(ruleset int) error {
	if _, _, errno := syscall.RawSyscall(sysRestrictSelf, uintptr(ruleset), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func noNewPrivileges() error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// keptCapabilities are those that work on files needs, and the one to listen on a low port (capabilities(7)): CHOWN,
// DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID, NET_BIND_SERVICE. Without the others root cannot raise its limits, load
// modules, or read other processes. With no_new_privs exec gives none back.
const keptCapabilities = 1<<0 | 1<<1 | 1<<3 | 1<<4 | 1<<6 | 1<<7 | 1<<10

func dropCapabilities() error {
	head := struct {
		version uint32
		pid     int32
	}{version: capabilityFormat}
	var data [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data)), 0); errno != 0 {
		return errno
	}
	data[0].permitted &= keptCapabilities
	data[0].effective &= keptCapabilities
	data[0].inheritable = 0
	data[1].permitted, data[1].effective, data[1].inheritable = 0, 0, 0
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data)), 0); errno != 0 {
		return errno
	}
	runtime.KeepAlive(&data)
	return nil
}
