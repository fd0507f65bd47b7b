package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// attacksPage is the page with what each attack comes to in each environment.
const attacksPage = "../../../core/environment/ATTACKS.md"

// victims are the columns of the page: an environment, and the user that the gateway runs as.
var victims = []struct {
	column, config string
	root           bool
	bare           bool // bubblewrap is not found
}{
	{"sandbox", "environment = \"auto\"", false, false},
	{"sandbox, root", "environment = \"auto\"", true, false},
	{"partial", "", false, true},
	{"partial, root", "", true, true},
	{"local", "environment = \"local\"", false, false},
	{"local, root", "environment = \"local\"", true, false},
}

// TR10: a tool attacks its gateway in every way of the page. What it sees and what the page says are the same, in both directions.
func TestTR10_WhatAToolCanDoToItsGatewayIsWhatThePageSays(t *testing.T) {
	t.Parallel() // it mostly waits
	if os.Geteuid() != 0 {
		t.Skip("runs as root: it starts gateways of two users")
	}
	if out, err := exec.Command(soak.Peer(t, "bwrap", "bubblewrap"), "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		soak.Missing(t, "runs where bubblewrap works: %v %s", err, out)
	}
	const version, signals = 1, 6 // of landlock_create_ruleset(2): ask for the version; the one that knows of signals
	if abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version); int(abi) < signals {
		soak.Missing(t, "runs where landlock has scopes: Linux 6.12")
	}
	told := attackTable(t)
	seen, ran := map[string]map[string]string{}, map[string]bool{}
	for _, v := range victims {
		t.Run(v.column, func(t *testing.T) {
			ran[v.column] = true
			got := attackGateway(t, v.config, v.root, v.bare)
			if kind, _, _ := strings.Cut(v.column, ","); got[environmentIs] != kind {
				t.Fatalf("the tool ran in %q", got[environmentIs])
			}
			for name, result := range got {
				if seen[name] == nil {
					seen[name] = map[string]string{}
				}
				seen[name][v.column] = result
			}
		})
	}
	var names []string
	for _, a := range attacks {
		names = append(names, a.name)
		for _, v := range victims {
			if want, got := told[a.name][v.column], seen[a.name][v.column]; want != got && ran[v.column] {
				t.Errorf("%s, %s: the page says %q, and it is %q", a.name, v.column, want, got)
			}
		}
	}
	for name := range told {
		if !slices.Contains(names, name) {
			t.Errorf("the page has an attack that no tool tries: %s", name)
		}
	}
	if t.Failed() {
		t.Logf("what was seen:\n%s", attackRows(names, seen))
	}
}

// attackTable reads the page's table by attack and column.
func attackTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	page, err := os.ReadFile(attacksPage)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != len(victims)+1 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "attack" {
			continue
		}
		row := map[string]string{}
		for i, v := range victims {
			row[v.column] = strings.TrimSpace(cells[i+1])
		}
		table[strings.TrimSpace(cells[0])] = row
	}
	if len(table) < 30 {
		t.Fatalf("the page has %d attacks", len(table))
	}
	return table
}

// attackRows is the table as the page has it.
func attackRows(names []string, seen map[string]map[string]string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "| %s |", name)
		for _, v := range victims {
			fmt.Fprintf(&b, " %s |", seen[name][v.column])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// attackGateway runs all attacks in a tool of a gateway and returns what came of each.
func attackGateway(t *testing.T, config string, root, bare bool) map[string]string {
	t.Helper()
	base := newHome(t)
	home, file := filepath.Join(base, "home"), filepath.Join(base, "config.toml")
	if bare {
		config += "\n[environments.box]\nkind = \"sandbox\"\nfallback = \"landlock\"\nread = [\"" + base + "/bin\"]"
		config = "environment = \"box\"\n" + config
	}
	config = quick + "\n[tools]\nmay_stop = \"no\"\n[agents.default]\napprovals = \"off\"\n" + config + "\n"
	as := ""
	if !root {
		as = soak.Peer(t, "setpriv", "util-linux") + " --reuid=65534 --regid=65534 --clear-groups"
	}
	wrapper := strings.NewReplacer("BASE", base, "AS", as, "BARE", strconv.FormatBool(bare)).Replace(`
mkdir -p BASE/bin && cp "$1" BASE/gatewaytui && cp "$6" BASE/config.toml || exit 1
if BARE; then for p in bash env cat sleep setsid; do ln -s "$(readlink -f "$(command -v $p)")" BASE/bin/$p; done; export PATH=BASE/bin; fi
[ "AS" = "" ] || /bin/chown -R 65534:65534 BASE
export HOME=BASE
exec /usr/bin/env AS BASE/gatewaytui --no-tui --home "$4" --config BASE/config.toml "${@:7}"`)
	g := startUnder(t, wrapper, home, config)
	p := prey{Gateway: g.cmd.Process.Pid, Guardian: guardianOf(t, g.cmd.Process.Pid), Home: home, Config: file, API: g.api}
	p.Other, p.Abstract, p.Daemon = otherPrograms(t, base, root)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(home, "work")
	if err := os.WriteFile(filepath.Join(base, "target"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := shell(base, "mkdir -p "+work+" && cp target "+work+" && cp /proc/"+strconv.Itoa(os.Getpid())+"/exe "+work+"/attacker && chown -R --reference=home "+work); err != nil {
		t.Fatal(out)
	}
	reply := g.toolOutput("setsid -f bash -c 'exec -a daemon-of-" + filepath.Base(base) + " sleep 300' >/dev/null 2>&1; ./attacker " + attackEverything + " target")
	results := map[string]string{}
	for line := range strings.Lines(reply) {
		if _, kind, is := strings.Cut(line, environmentIs); is {
			results[environmentIs] = strings.TrimSpace(kind)
		}
		for _, a := range attacks {
			if rest, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "output: "), a.name+": "); is {
				results[a.name], _, _ = strings.Cut(rest, ":")
				t.Log(a.name + ": " + rest)
			}
		}
	}
	if len(results) != len(attacks)+1 {
		t.Errorf("of %d attacks %d were tried:\n%s", len(attacks), len(results), reply)
	}
	if left, _ := shell(home, "pgrep -f '^daemon-of-"+filepath.Base(base)+"'"); strings.TrimSpace(left) != "" {
		t.Errorf("a daemon outlived its turn: %s", left)
	}
	if out, code := g.verb("status"); code != 0 {
		t.Errorf("after the attacks the gateway answers %d %s", code, out)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	const made = "make a file in the home"
	if err := os.Remove(filepath.Join(home, madeByTool)); os.IsNotExist(err) && results[made] == "possible" {
		results[made] = "held"
	}
	rows := refusals(t, home)
	for _, a := range attacks {
		if results[a.name] != "refused" {
			continue
		}
		if results[a.name] = "refused and audited"; !slices.Contains(rows, a.call) {
			t.Errorf("%s: refused, and the audit has only %q", a.name, rows)
		}
	}
	return results
}

// refusals are the calls of tools that a gateway which has ended refused, as its audit names them.
func refusals(t *testing.T, home string) (calls []string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT verb FROM audit WHERE tool = 1 AND state = 'refused'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var call string
		if err := rows.Scan(&call); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call)
	}
	return calls
}

// guardianOf waits for the guardian of a gateway and returns its pid.
func guardianOf(t *testing.T, gateway int) (pid int) {
	t.Helper()
	eventually.True(t, "the guardian is there", func() bool {
		all, _ := filepath.Glob("/proc/" + strconv.Itoa(gateway) + "/task/*/children")
		for _, file := range all {
			children, _ := os.ReadFile(file)
			for _, child := range strings.Fields(string(children)) {
				if command, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.HasPrefix(string(command), "gatewaytui: guardian") {
					pid, _ = strconv.Atoi(child)
					return true
				}
			}
		}
		return false
	})
	return pid
}

// otherPrograms are what the gateway's user has running besides: a process, and a program with an abstract socket and one in a folder.
func otherPrograms(t *testing.T, base string, root bool) (pid int, abstract, path string) {
	t.Helper()
	abstract, path = "@daemon-of-"+filepath.Base(base), filepath.Join(base, "daemon.sock")
	for _, name := range []string{abstract, path} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { // ends when l is closed
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "hello")
				conn.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	argv := []string{"sleep", "300"}
	if !root {
		argv = append([]string{soak.Peer(t, "setpriv", "util-linux"), "--reuid=65534", "--regid=65534", "--clear-groups"}, argv...)
	}
	other := exec.Command(argv[0], argv[1:]...)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	eventually.True(t, "it is the program", func() bool {
		name, _ := os.ReadFile(proc(other.Process.Pid, "comm"))
		return string(name) == "sleep\n"
	})
	return other.Process.Pid, abstract, path
}
