package e2e

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"gatewaytui/fixtures/eventually"
)

// HF7: a tool of the gateway does not get at other sessions, the drain, the transcripts and the profiles through the control
// socket, however it hides; the status it gets.
func TestHF7_AToolIsNotAnOperatorHoweverItHides(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, quick)
	if reply, status := g.chat("alice", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	curl := "/usr/bin/env -i /usr/bin/curl -s --max-time 5 --unix-socket " + filepath.Join(home, "control.sock") + " "
	post := curl + "-X POST -d '{}' http://x"
	message := curl + `-X POST -d '{"text":"sh: touch proof"}' http://x/v1/sessions/api:user:alice/message`
	for name, command := range map[string]string{
		"a drain in the foreground":           post + "/v1/drain",
		"a message into another session":      message,
		"another session's reset":             post + "/v1/sessions/api:user:alice/reset",
		"a snapshot":                          curl + "http://x/v1/snapshot",
		"the sessions":                        curl + "http://x/v1/sessions",
		"the events":                          curl + "http://x/v1/events",
		"a profile":                           curl + "http://x/debug/pprof/heap",
		"a lever of a shutdown":               post + "/v1/shutdown/force",
		"by a daemon":                         "/usr/bin/setsid -f " + post + "/v1/drain >said 2>&1; while [ ! -s said ]; do sleep 0.02; done; cat said; rm said",
		"by an orphan whose parent has ended": "(" + post + "/v1/drain >said 2>&1 &); while [ ! -s said ]; do sleep 0.02; done; cat said; rm said",
		// The end of its turn ends it; it ignores the TERM, so that it has the grace to ask.
		"by a daemon whose parents ended before": "/usr/bin/setsid -f bash -c 'trap \"\" TERM; while kill -0 '$$' 2>/dev/null; do sleep 0.02; done; " + strings.ReplaceAll(post, "'", `"`) + "/v1/drain >later 2>&1'; echo tool_caller",
		"by one that sheds its limits":           "ulimit -S -R unlimited 2>/dev/null; /usr/bin/setsid -f " + post + "/v1/drain >said 2>&1; while [ ! -s said ]; do sleep 0.02; done; cat said; rm said",
		"by the program's own command":           binary + " --home " + home + " drain 2>&1",
	} {
		if reply, status := g.chat("bob", "sh: "+command); status != http.StatusOK || !strings.Contains(reply, "tool_caller") && !strings.Contains(reply, "a tool of the gateway may not") {
			t.Errorf("%s: answered %d %q", name, status, reply)
		}
	}
	eventually.True(t, "the daemon whose parents had ended is refused as well", func() bool {
		out, _ := shell(home, "cat work/later 2>/dev/null")
		return strings.Contains(out, "tool_caller")
	})
	if reply, _ := g.chat("bob", "sh: "+curl+"http://x/v1/status"); !strings.Contains(reply, g.life) {
		t.Errorf("the status is %q", reply)
	}
	if out, _ := shell(home, "ls work"); strings.Contains(out, "proof") {
		t.Error("a tool had another session run a command")
	}
	if out, code := g.verb("sessions"); code != 0 || !strings.Contains(out, "api:user:alice") {
		t.Errorf("the operator gets %d %s", code, out)
	}
	if out, code := g.verb("status"); code != 0 || !strings.Contains(out, "running") {
		t.Errorf("status: %d %s", code, out)
	}
	g.stopsClean()
}

// audits are the rows of the audit of a home whose gateway has ended: verb, whether a tool asked, and its session.
func audits(t *testing.T, home string) (rows []string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Query(`SELECT verb || ' ' || tool || ' ' || session FROM audit ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// HF7: a stop that a tool asks for is one of a tool in the marker, the history and the audit, with the tool's session, though
// the tool has no environment; the drain does not wait for the turn that asked.
func TestHF7_AStopByAToolIsNamedAsOne(t *testing.T) {
	home := newHome(t)
	g := start(t, home, longDrain())
	g.say("bob", "sh: env -i /usr/bin/setsid -f /usr/bin/curl -s --unix-socket "+filepath.Join(home, "control.sock")+" -X POST -d '{}' http://x/v1/stop; sleep 300")
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	marker, _ := shell(home, "cat .clean_shutdown")
	if !strings.Contains(marker, `"stopped by a tool"`) || !strings.Contains(marker, "a tool of api:user:bob") {
		t.Errorf("the marker is %s", marker)
	}
	if rows := audits(t, home); len(rows) != 1 || rows[0] != "stop 1 api:user:bob" {
		t.Errorf("the audit has %q", rows)
	}
	if out, _ := shell(home, "cat dumps/*"); !strings.Contains(out, "it asked for this stop") {
		t.Error("the drain waited for the turn that asked")
	}
	next := start(t, home, quick)
	if out, _ := next.verb("history"); !strings.Contains(out, "a tool") {
		t.Errorf("the history is %s", out)
	}
	next.stopsClean()
}

// HF7: with tools.may_stop = "no" a tool can neither stop nor restart its gateway; the operator can.
func TestHF7_AConfigKeepsToolsFromStopping(t *testing.T) {
	home := newHome(t)
	g := start(t, home, quick+"\n[tools]\nmay_stop = \"no\"\n")
	for _, command := range []string{"stop --yes", "restart --yes"} {
		reply, status := g.chat("bob", "sh: "+binary+" --home "+home+" "+command+" 2>&1")
		if status != http.StatusOK || !strings.Contains(reply, "tools.may_stop") || !strings.Contains(reply, "exit code 1") {
			t.Errorf("%s: answered %d %q", command, status, reply)
		}
	}
	if out, code := g.verb("stop", "--yes", "--wait"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// TR10: with tools.may_stop = "ask", the default, a tool's stop waits for a person. No tool answers for the person, and the turn of a
// request that no person waits for is refused at once.
func TestTR10_AToolsStopWaitsForAPersonAndNoToolAnswers(t *testing.T) {
	home := newHome(t)
	g := start(t, home, quick+"\n[tools]\nmay_stop = \"ask\"\n")
	// The fence refuses a command that names the gateway; it does not read scripts.
	inScript := func(name, command string) string {
		if err := os.WriteFile(filepath.Join(home, "work", name), []byte(command), 0o600); err != nil {
			t.Fatal(err)
		}
		return "sh: bash " + name
	}
	stop := inScript("stop", binary+" --home "+home+" stop --yes --reason update 2>&1")
	if reply, status := g.chat("bob", stop); status != http.StatusOK || !strings.Contains(reply, "it was not allowed") || !strings.Contains(reply, "exit code 1") {
		t.Errorf("a plain request: answered %d %q", status, reply)
	}
	if out, code := g.verb("send", stop); code != 0 || !strings.Contains(out, "a person must allow this first: it waits for approval ") {
		t.Fatalf("send: %d %s", code, out)
	}
	var page struct {
		Items []struct{ ID, Kind, Command string }
	}
	g.socket(http.MethodGet, "/v1/inbox?filter=state:waiting", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Kind != "stop" || page.Items[0].Command != "stop: update" {
		t.Fatalf("the inbox has %+v", page.Items)
	}
	id := page.Items[0].ID
	curl := "/usr/bin/env -i /usr/bin/curl -s --max-time 5 --unix-socket " + filepath.Join(home, "control.sock") + " http://x"
	for name, command := range map[string]string{
		"the program's own command": binary + " --home " + home + " approve " + id + " 2>&1",
		"a request on the socket":   curl + "/v1/inbox/" + id + "/approve -X POST",
		"a refusal":                 curl + "/v1/inbox/" + id + "/deny -X POST",
		"a look at the inbox":       curl + "/v1/inbox",
		"a rule":                    curl + "/v1/approvals/rules/1/remove -X POST",
	} {
		if reply, status := g.chat("bob", inScript("answer", command)); status != http.StatusOK || !strings.Contains(reply, "tool_caller") && !strings.Contains(reply, "a tool of the gateway may not") {
			t.Errorf("%s: answered %d %q", name, status, reply)
		}
	}
	if out, _ := g.verb("inbox"); !strings.Contains(out, id) || !strings.Contains(out, "waiting") {
		t.Errorf("then the inbox is %s", out)
	}
	if out, code := g.verb("approve", id); code != 0 {
		t.Errorf("approve: %d %s", code, out)
	}
	if code := g.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	refused := 0
	for _, row := range audits(t, home) {
		if strings.HasSuffix(row, "1 api:user:bob") && (strings.Contains(row, "/inbox") || strings.Contains(row, "/rules/")) {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("the audit has %d rows about what the tool was refused, want 4: %q", refused, audits(t, home))
	}
}
