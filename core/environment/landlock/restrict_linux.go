package landlock

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"gatewaytui/core/environment/step"
)

func init() {
	if len(os.Args) > 2 && os.Args[1] == title {
		os.Exit(become(os.Args[2:]))
	}
}

// become restricts this process as args say and turns it into the command behind "--". It returns the exit code if that
// does not work.
func become(args []string) int {
	runtime.LockOSThread() // the restriction is one of the thread, and exec leaves only this thread
	rules, argv, err := parse(args)
	if err == nil {
		err = rules.restrict()
	}
	if err != nil {
		step.Say("the command was not started, because it could not be restricted: " + err.Error())
		return step.NotRun
	}
	return step.Exec(argv, slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(rules.Unset, name)
	}))
}

func parse(args []string) (r Rules, argv []string, err error) {
	r.Network = true
	for i, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch {
		case key+"=" == toRead:
			r.Read = append(r.Read, value)
		case key+"=" == toWrite:
			r.Write = append(r.Write, value)
		case key+"=" == toUnset:
			r.Unset = append(r.Unset, value)
		case arg == closed:
			r.Network = false
		case arg == "--" && i+1 == len(args):
			return r, nil, errors.New("no command given")
		case arg == "--":
			return r, args[i+1:], nil
		default:
			return r, nil, errors.New("invalid argument " + arg)
		}
	}
	return r, nil, errors.New("no end of the rules")
}

// restrict puts the rules on the calling thread. Any step that fails is an error.
func (r Rules) restrict() error {
	abi := ABI()
	switch {
	case abi == 0:
		return errors.New("this kernel has no landlock")
	case !r.Network && abi < abiTCP && !Filters():
		return errors.New("this kernel cannot close the network (landlock before ABI 4)")
	}
	if err := noNewPrivileges(); err != nil {
		return errors.New("no_new_privs: " + err.Error())
	}
	attr, size := handled(abi, r.Network)
	ruleset, err := createRuleset(&attr, size)
	if err != nil {
		return errors.New("make the rules: " + err.Error())
	}
	defer syscall.Close(ruleset)
	for _, path := range r.Read {
		if err := allow(ruleset, path, fsExecute|fsReadFile|fsReadDir); err != nil && err != syscall.ENOENT {
			return errors.New("allow to read " + path + ": " + explain(err))
		}
	}
	for _, path := range r.Write {
		if err := allow(ruleset, path, attr.fs); err != nil {
			return errors.New("allow to write " + path + ": " + explain(err))
		}
	}
	if err := dropCapabilities(); err != nil {
		return errors.New("drop capabilities: " + err.Error())
	}
	if err := restrictSelf(ruleset); err != nil {
		return errors.New("landlock: " + err.Error())
	}
	if Filters() {
		if err := filterCalls(r.Network); err != nil {
			return errors.New("filter system calls: " + err.Error())
		}
	}
	return nil
}

func explain(err error) string {
	if err == syscall.ELOOP {
		return "a symbolic link took its place"
	}
	return err.Error()
}
