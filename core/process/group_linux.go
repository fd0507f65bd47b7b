package process

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// groups are the control groups of this life. The group that we were given contains one for the home, which contains one
// for the life, which contains one for each tree, or one for each session with those of its trees (Share). Trees that may outlive the life are in a second group of the life,
// which the guardian does not end. Only the groups of trees contain processes. Where limits are possible, we are in a
// group next to the home's (divide).
type groups struct {
	home, life, kept string // directories
	path             string // of home, as shown in /proc/PID/cgroup
	base             string // the directory that contains home: the group that we were given
	own              string // the directory of our group at the start: base, or the leaf in it
}

// Names of the groups. The rest of each name is escaped, because an id may have a slash.
const (
	lifeGroup = "life-"
	keptGroup = "kept-"
	treeGroup = "tree-"
)

func makeGroups(home, life string) (*groups, error) {
	dir, at, err := groupDir("self")
	if err != nil {
		return nil, err
	}
	g := &groups{base: dir, own: dir}
	// An earlier life made this group and left it for us, or the service manager did (DelegateSubgroup=).
	if given := filepath.Dir(dir); path.Base(at) == kernel.LeafGroup && unix.Access(given, unix.W_OK) == nil {
		if _, err := os.Stat(given + "/cgroup.procs"); err == nil {
			g.base, at = given, path.Dir(at)
		}
	}
	name := kernel.HomeGroup + url.PathEscape(home)
	g.home, g.path = filepath.Join(g.base, name), path.Join(at, name)
	g.life, g.kept = g.of(life)
	if err := os.MkdirAll(g.life, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Access(g.life+"/cgroup.kill", unix.W_OK); err != nil {
		return nil, errors.Join(fmt.Errorf("control groups cannot be killed here (Linux 5.14): %w", err), g.remove())
	}
	return g, nil
}

var errNoCgroup2 = errors.New("no mounted cgroup v2 tree contains the gateway's group")

// groupDir is the directory of the group of process pid, and its path in the tree.
func groupDir(pid string) (dir, at string, err error) {
	mountinfo, cgroup, err := groupFiles(pid)
	if err != nil {
		return "", "", err
	}
	return ownGroup(mountinfo, cgroup)
}

// ownGroup is our own group's directory and its path in the tree, from the contents of /proc/self/mountinfo and
// /proc/self/cgroup (proc_pid_mountinfo(5), cgroups(7)). A host with both versions mounts the tree separately from v1's.
func ownGroup(mountinfo, cgroup string) (dir, own string, err error) {
	own = groupIn(cgroup)
	if !strings.HasPrefix(own, "/") || path.Clean(own) != own {
		return "", "", errNoCgroup2 // none, or one outside of what we may see: /..
	}
	for m := range mountsIn(mountinfo) {
		if below, ok := m.below(own); ok && m.kind == "cgroup2" {
			return path.Join(m.point, below), own, nil
		}
	}
	return "", "", errNoCgroup2
}

// tree is the directory of spawn id's group.
func (g *groups) tree(id uint64, kept bool) string {
	dir := g.life
	if kept {
		dir = g.kept
	}
	return dir + "/" + treeGroup + strconv.FormatUint(id, 10)
}

// makeGroup makes the group at dir and opens it for SysProcAttr.CgroupFD.
func makeGroup(dir string) (fd int, err error) {
	for range dividing { // the end of a session's last tree may remove the session's group meanwhile
		if err = os.MkdirAll(dir, 0o755); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return -1, err
	}
	fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fd, nil
}

// spawnOf is the spawn whose group contains pid; 0: none does.
func (g *groups) spawnOf(pid int) uint64 {
	dir := g.dirOf(pid)
	for _, life := range []string{g.life, g.kept} {
		rest, ok := strings.CutPrefix(dir, life+"/")
		if session, in, below := strings.Cut(rest, "/"); below && strings.HasPrefix(session, sessionGroup) {
			rest = in
		}
		if rest, is := strings.CutPrefix(rest, treeGroup); ok && is {
			number, _, _ := strings.Cut(rest, "/")
			if id, err := strconv.ParseUint(number, 10, 64); err == nil {
				return id
			}
		}
	}
	return 0
}

// dirOf is the directory of pid's group; empty if it is not below the home's.
func (g *groups) dirOf(pid int) string {
	rest, ok := strings.CutPrefix(groupOf(pid), g.path+"/")
	if !ok {
		return ""
	}
	return g.home + "/" + rest
}

// groupOf is the path of pid's group; empty if pid is gone.
func groupOf(pid int) string {
	b, _ := kernel.ReadFile("/proc/"+strconv.Itoa(pid)+"/cgroup", make([]byte, 4<<10))
	return groupIn(string(b))
}

// groupIn is the path in the content of /proc/PID/cgroup; empty: it has no group of version 2.
func groupIn(cgroup string) string {
	for line := range strings.Lines(cgroup) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(rest, "\n")
		}
	}
	return ""
}

// kill ends everything in the group at dir, a directory below home's. It does nothing if we are in that group ourselves:
// then processes can only be ended one by one (B12).
func (g *groups) kill(dir string) {
	rest := strings.TrimPrefix(dir, g.home)
	if own := groupOf(os.Getpid()); strings.HasPrefix(own+"/", g.path+rest+"/") {
		return
	}
	_ = kernel.KillGroup(dir) // the scan shows what is left, and the signals reach it as well
}

// earlier are the lives of this home, other than this one, that left a group.
func (g *groups) earlier() []string {
	entries, err := os.ReadDir(g.home)
	if err != nil {
		return nil
	}
	var lives []string
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), lifeGroup)
		if !ok {
			name, ok = strings.CutPrefix(e.Name(), keptGroup)
		}
		life, err := url.PathUnescape(name)
		if dir, _ := g.of(life); ok && err == nil && e.IsDir() && dir != g.life && !slices.Contains(lives, life) {
			lives = append(lives, life)
		}
	}
	return lives
}

// of are the two directories of a life of this home: for processes that end with it, and for processes that it keeps.
func (g *groups) of(life string) (dir, kept string) {
	name := url.PathEscape(life)
	return filepath.Join(g.home, lifeGroup+name), filepath.Join(g.home, keptGroup+name)
}

// trees are the directories of the groups of trees in dir, those in the groups of sessions included.
func (g *groups) trees(dir string) (dirs []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		switch below := filepath.Join(dir, e.Name()); {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), sessionGroup):
			dirs = append(dirs, g.trees(below)...)
		default:
			dirs = append(dirs, below)
		}
	}
	return dirs
}

// removeEarlier removes the groups of earlier lives that are empty.
func (g *groups) removeEarlier() {
	for _, life := range g.earlier() {
		dir, kept := g.of(life)
		_ = kernel.RemoveGroup(dir) // fails if it is not empty: see SweepEarlier
		_ = kernel.RemoveGroup(kept)
	}
}

// remove removes the groups of this life and the empty ones of earlier lives, and the home's if it contains no other
// life's.
func (g *groups) remove() error {
	g.removeEarlier()
	for _, dir := range []string{g.life, g.kept} {
		if err := kernel.RemoveGroup(dir); err != nil {
			return fmt.Errorf("remove control group %s: %w", dir, err)
		}
	}
	_ = os.Remove(g.home) // fails while another life's is in it
	return nil
}
