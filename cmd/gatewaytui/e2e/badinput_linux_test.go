package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// leaveLife runs a gateway on home to its end by SIGKILL, after one answered message, and returns its life.
func leaveLife(t *testing.T, home string) string {
	t.Helper()
	g := start(t, home, quick)
	if _, status := g.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
	g.kill()
	return g.life
}

// kill ends the gateway by SIGKILL.
func (g *gateway) kill() {
	g.t.Helper()
	if err := g.cmd.Process.Kill(); err != nil {
		g.t.Fatal(err)
	}
	g.exit()
}

// warnings are what status says is wrong, by their codes.
func (g *gateway) warnings() map[string]string {
	g.t.Helper()
	var s struct {
		Warnings []struct{ Code, Message string }
	}
	g.socket(http.MethodGet, "/v1/status", nil, &s)
	found := map[string]string{}
	for _, w := range s.Warnings {
		found[w.Code] += w.Message + "\n"
	}
	return found
}

// lastEnd is how the life before ended, as status says it.
func (g *gateway) lastEnd() (outcome, reason string) {
	g.t.Helper()
	var s struct {
		LastEnd struct{ Outcome, Reason string } `json:"last_end"`
	}
	g.socket(http.MethodGet, "/v1/status", nil, &s)
	return s.LastEnd.Outcome, s.LastEnd.Reason
}

// quarantinedTexts are the contents of the quarantined files.
func quarantinedTexts(t *testing.T, home string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(home, "aside", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts
}

// Issue 4, "Bad input": marker, pid file and report that are cut off never stop a start; each is named in status and in
// the log, kept as it was, and what it still says is taken: that a stop had begun.
func TestA19_FilesThatCannotBeReadStopNoStart(t *testing.T) {
	t.Parallel() // it mostly waits
	const marker, pid = `{"life":"01LI`, `{"pid":47`
	for _, tc := range []struct {
		name    string
		files   func(life string) map[string]string
		outcome string
	}{
		{"a pid file", func(string) map[string]string { return map[string]string{"gateway.pid": pid} }, "crashed"},
		{"a marker", func(string) map[string]string { return map[string]string{".clean_shutdown": marker} }, "cut_short"},
		{"an empty marker", func(string) map[string]string { return map[string]string{".clean_shutdown": ""} }, "cut_short"},
		{"a report", func(life string) map[string]string {
			return map[string]string{"dumps/shutdown-" + life + ".json": `{"id":"s","life":"` + life + `","phas`}
		}, "cut_short"},
		{"a report of another life", func(life string) map[string]string {
			return map[string]string{"dumps/shutdown-" + life + ".json": `{"id":"s","life":"other","outcome":"clean"}`}
		}, "cut_short"},
		{"all three", func(life string) map[string]string {
			return map[string]string{"gateway.pid": pid, ".clean_shutdown": marker, "dumps/shutdown-" + life + ".json": "\x00\x00"}
		}, "cut_short"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := newHome(t)
			files := tc.files(leaveLife(t, home))
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g := start(t, home, quick)
			said := g.warnings()["aside"]
			out, _ := g.verb("status")
			for name := range files {
				logged := false
				for _, l := range g.log() {
					logged = logged || l.text("code") == "aside" && strings.Contains(l.text("text"), name)
				}
				if !strings.Contains(said, name) || !strings.Contains(out, name) || !logged {
					t.Errorf("%s is named in the log: %v, in status:\n%s", name, logged, out)
				}
			}
			kept := quarantinedTexts(t, home)
			for name, text := range files {
				found := false
				for _, k := range kept {
					found = found || k == text
				}
				if !found {
					t.Errorf("%s is not kept as it was: %q", name, kept)
				}
			}
			if outcome, reason := g.lastEnd(); outcome != tc.outcome {
				t.Errorf("the last life is %s (%s), want %s", outcome, reason, tc.outcome)
			}
			if _, status := g.chat("a", "hello"); status != http.StatusOK {
				t.Errorf("a message is answered %d", status)
			}
			if code, _ := g.stop(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			next := start(t, home, quick)
			if w := next.warnings(); w["aside"] != "" {
				t.Errorf("the next life warns again: %s", w["aside"])
			}
			if outcome, _ := next.lastEnd(); outcome != "clean" {
				t.Errorf("the next life says %s", outcome)
			}
			if code, _ := next.stop(); code != 0 {
				t.Fatalf("exit code %d", code)
			}
		})
	}
}

// Issue 4, "Bad input": invalid rows stop no start and cause no action: a process that is not
// the gateway's lives on, for any row that names it.
func TestInvalidRowsStopNoStart(t *testing.T) {
	soak.Peer(t, "sqlite3", "Debian package sqlite3")
	home := newHome(t)
	life := leaveLife(t, home)
	foreign := exec.Command("sleep", "600")
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = foreign.Process.Kill(); _ = foreign.Wait() })
	rows := fmt.Sprintf(`PRAGMA ignore_check_constraints = on;
		INSERT INTO processes (life, pid, start_ticks, boot_id, session, command, policy, started_at, how) VALUES ('%[1]s', -1, 1, 'b', 's', 'c', 'turn', 1, '');
		INSERT INTO processes (life, pid, start_ticks, boot_id, session, command, policy, started_at, how) VALUES ('%[1]s', %[2]d, 1, 'b', 's', 'c', 'unknown', 1, '');
		INSERT INTO inbox (id, session, adapter, target, user, text, at, state) VALUES ('m1', 'chat:dm:1', 'chat', '1', 'u', 'hello', 1, 'lost');
		INSERT INTO outbox (id, session, adapter, target, text, at, state, reason) VALUES ('o1', 's', '', '1', 'hello', -5, 'waiting', '');
		INSERT INTO lives (id, pid, start_ticks, boot_id, version, outcome, phase, reason, by) VALUES ('impossible', 7, 1, '', '', 'wonderful', '', '', '');
		INSERT INTO shutdowns (id, life, report) VALUES ('s1', '%[1]s', '{"id":"s1","pha');
		UPDATE sessions SET state = 'asleep';`, life, foreign.Process.Pid)
	insert := exec.Command("sqlite3", filepath.Join(home, "gateway.db"))
	insert.Stdin = strings.NewReader(rows)
	if out, err := insert.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	g := start(t, home, quick)
	eventually.True(t, "all seven are named", func() bool {
		said := g.warnings()["store.rows"]
		return strings.Contains(said, "6 rows") && strings.Contains(said, "1 row ") && strings.Contains(said, "quarantine")
	})
	if outcome, _ := g.lastEnd(); outcome != "crashed" {
		t.Errorf("the last life is %s", outcome)
	}
	if out, code := g.verb("history", "--json"); code != 0 || strings.Contains(out, "impossible") {
		t.Errorf("history: %d %s", code, out)
	}
	if reply, status := g.chat("a", "history"); status != http.StatusOK {
		t.Errorf("the session whose state was impossible answers %d %q", status, reply)
	}
	if !alive(foreign.Process.Pid) {
		t.Error("a process that is not ours was ended")
	}
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	out, err := shell(home, `sqlite3 gateway.db "select source, why from quarantine order by source; pragma integrity_check"`)
	if err != nil || strings.Count(out, "|") != 7 || !strings.HasSuffix(out, "ok\n") {
		t.Errorf("the database says %q, %v", out, err)
	}
}

// damage overwrites the first page of a table, and returns the database as it is then.
func damage(t *testing.T, home, table string) []byte {
	t.Helper()
	path := filepath.Join(home, "gateway.db")
	out, err := shell(home, `sqlite3 gateway.db "select rootpage from sqlite_schema where name = '`+table+`'"`)
	var root int
	if _, scanErr := fmt.Sscan(out, &root); err != nil || scanErr != nil {
		t.Fatalf("%v, %v: %s", err, scanErr, out)
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(db[(root-1)*4096:], bytes.Repeat([]byte{0xa5, 3}, 2048))
	if err := os.WriteFile(path, db, 0o600); err != nil {
		t.Fatal(err)
	}
	return db
}

// F8: a damaged database fails a start that names the table, the copy and both ways on; read-only it is shown, nothing is
// written to it and no message is accepted; fresh it is quarantined.
func TestF8_ADamagedDatabaseIsOpenedReadOnlyOrQuarantined(t *testing.T) {
	soak.Peer(t, "sqlite3", "Debian package sqlite3")
	home := newHome(t)
	g := start(t, home, quick)
	if _, status := g.chat("a", "hello"); status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
	first := g.life
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	db := damage(t, home, "messages")
	if err := os.Remove(filepath.Join(home, ".clean_shutdown")); err != nil { // with it the last life is trusted
		t.Fatal(err)
	}
	untouched := func(when string) {
		t.Helper()
		if now, err := os.ReadFile(filepath.Join(home, "gateway.db")); err != nil || !bytes.Equal(now, db) {
			t.Fatalf("%s the damaged database is another, %v", when, err)
		}
	}
	failed := spawn(t, home, quick)
	if code := failed.exit(); code != 78 { // HF24: no service manager retries it
		t.Fatalf("the start ended with %d", code)
	}
	for _, want := range []string{"in table messages", "--read-only-store", "--fresh-store", "gateway.db.damaged is a copy"} {
		if !strings.Contains(failed.output(), want) {
			t.Errorf("the start does not say %q:\n%s", want, failed.output())
		}
	}
	untouched("after the start that failed")

	bot := botapitest.New(botToken)
	t.Cleanup(bot.Close)
	for range 2 { // a second read-only life knows no more than the first, and no less
		looking := start(t, home, withBot(t, bot), "--read-only-store")
		said := looking.warnings()["store.read_only"]
		for _, want := range []string{"in table messages", "--fresh-store", "no message is taken"} {
			if !strings.Contains(said, want) {
				t.Errorf("status does not say %q: %s", want, said)
			}
		}
		for _, verb := range []string{"status", "sessions", "history", "adapters", "processes", "plan"} {
			if out, code := looking.verb(verb); code != 0 {
				t.Errorf("%s: %d %s", verb, code, out)
			}
		}
		if out, _ := looking.verb("sessions"); !strings.Contains(out, "api:user:a") {
			t.Errorf("the session is not shown: %s", out)
		}
		if out, _ := looking.verb("history"); !strings.Contains(out, first) || !strings.Contains(out, looking.life) {
			t.Errorf("the lives are not shown: %s", out)
		}
		if out, _ := looking.verb("doctor"); !strings.Contains(out, "in table messages") {
			t.Errorf("doctor does not say it: %s", out)
		}
		if reply, status := looking.chat("a", "hello"); status != http.StatusServiceUnavailable || !strings.Contains(reply, "damaged in messages") {
			t.Errorf("a message is answered %d %q", status, reply)
		}
		if out, code := looking.verb("send", "hello"); code == 0 || !strings.Contains(out, "damaged") {
			t.Errorf("send: %d %s", code, out)
		}
		if status := looking.socket(http.MethodGet, "/readyz", nil, nil); status != http.StatusServiceUnavailable {
			t.Errorf("readyz answers %d", status)
		}
		before := len(bot.Sent())
		bot.Inject(botapitest.Update{User: 4711, Text: "hello"})
		eventually.True(t, "the chat has the notice", func() bool {
			sent := bot.Sent()
			return len(sent) > before && strings.Contains(sent[before].Text, "takes no messages") && bot.Unconfirmed() == 0
		})
		looking.stopsClean()
		untouched("after a read-only life")
	}
	again := spawn(t, home, quick) // the marker of the read-only life does not make the database a sound one
	if code := again.exit(); code != 78 || !strings.Contains(again.output(), "in table messages") {
		t.Fatalf("a start after the read-only life ended with %d:\n%s", code, again.output())
	}
	untouched("after another start that failed")

	fresh := start(t, home, quick, "--fresh-store")
	if _, status := fresh.chat("a", "hello"); status != http.StatusOK {
		t.Errorf("answered %d", status)
	}
	quarantined, err := filepath.Glob(filepath.Join(home, "gateway.db.damaged-*"))
	if err != nil || len(quarantined) == 0 || !strings.Contains(fresh.warnings()["store.fresh"], quarantined[0]) {
		t.Errorf("quarantined are %v, %v; status says %q", quarantined, err, fresh.warnings()["store.fresh"])
	}
	if code, _ := fresh.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// F8: damage that a trusted start meets in its first reads is named as well as one that was looked for.
func TestF8_DamageThatATrustedStartMeetsIsNamed(t *testing.T) {
	soak.Peer(t, "sqlite3", "Debian package sqlite3")
	home := newHome(t)
	g := start(t, home, quick)
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	damage(t, home, "lives")
	failed := spawn(t, home, quick)
	if code := failed.exit(); code != 78 || !strings.Contains(failed.output(), "--read-only-store") || !strings.Contains(failed.output(), "lives") {
		t.Fatalf("the start ended with %d:\n%s", code, failed.output())
	}
	if _, err := os.Stat(filepath.Join(home, "gateway.db.damaged")); err != nil {
		t.Error(err)
	}
}

const botToken = "4711:token"

// withBot is a config with a telegram adapter on a double of its server.
func withBot(t *testing.T, bot *botapitest.Server) string {
	t.Helper()
	setenv(t, "BAD_INPUT_TOKEN", botToken)
	return quick + "[adapters.telegram]\nenabled = true\ntoken_env = \"BAD_INPUT_TOKEN\"\nbase_url = \"" + bot.URL + "\"\nallow_all = true\n"
}

// E15: the last hundred updates come again after a SIGKILL, because their acceptance was not confirmed: none has a second
// turn.
func TestE15_AHundredUpdatesThatComeAgainAfterAKillMakeNoSecondTurn(t *testing.T) {
	soak.Peer(t, "sqlite3", "Debian package sqlite3")
	const updates = 100
	home := newHome(t)
	bot := botapitest.New(botToken)
	t.Cleanup(bot.Close)
	config := withBot(t, bot)
	inject := func(bot *botapitest.Server) {
		for i := range updates {
			bot.Inject(botapitest.Update{ID: int64(1000 + i), User: int64(4711 + i%10), Text: fmt.Sprint("/queue hello ", i)}) // a turn of its own
		}
	}
	g := start(t, home, config)
	inject(bot)
	// Not the number of messages that were sent: a message that waits for a running turn may get a notice as well.
	eventually.True(t, "all have had their turn", func() bool {
		ended := 0
		for _, l := range g.log() {
			if l.text("msg") == "turn ended" {
				ended++
			}
		}
		return ended >= updates
	})
	g.kill()
	answered := len(bot.Sent())

	again := botapitest.New(botToken) // a server that knows of no confirmation
	t.Cleanup(again.Close)
	inject(again)
	next := start(t, home, withBot(t, again))
	eventually.True(t, "all came again", func() bool { return again.Unconfirmed() == 0 })
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	repeated := 0
	for _, l := range next.log() { // whole now: the stop writes out what was logged
		if l.text("msg") == "message delivered again" {
			repeated++
		}
	}
	out, err := shell(home, `sqlite3 gateway.db "select count(*) from turns"`)
	var turns int
	if _, scanErr := fmt.Sscan(out, &turns); err != nil || scanErr != nil || turns != updates || repeated != updates {
		t.Fatalf("%s turns for %d updates, %d of which were known when they came again (%d answers before the kill); %v", strings.TrimSpace(out), updates, repeated, answered, err)
	}
}

// noFlock is python that runs a program for which flock(2) gives ENOLCK, as on NFS without a lock daemon: a seccomp
// filter (seccomp(2)) that outlives the exec.
const noFlock = `import ctypes, os, struct, sys
numbers = {"x86_64": 73, "aarch64": 32}
libc = ctypes.CDLL(None, use_errno=True)
code = b"".join(struct.pack("HBBI", *i) for i in [(0x20, 0, 0, 0), (0x15, 0, 1, numbers[os.uname().machine]), (0x06, 0, 0, 0x00050000 | 37), (0x06, 0, 0, 0x7fff0000)])
buf = ctypes.create_string_buffer(code)
class Prog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
prog = Prog(4, ctypes.cast(buf, ctypes.c_void_p))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(prog)):
    sys.exit(99)
os.execv(sys.argv[1], sys.argv[1:])`

// B18: on a file system without locks a start names it, offers the way round, and ends with a code that no supervisor
// retries.
func TestB18_WithoutLocksTheStartSaysSoAndIsNotRetried(t *testing.T) {
	python := soak.Peer(t, "python3", "Debian package python3") // it takes flock away
	script := filepath.Join(t.TempDir(), "noflock.py")
	if err := os.WriteFile(script, []byte(noFlock), 0o600); err != nil {
		t.Fatal(err)
	}
	home := newHome(t)
	g := spawnUnder(t, "exec "+python+" "+script+` "$@"`, home, quick)
	code := g.exit()
	if code == 99 {
		t.Skip("runs where a process may install a seccomp filter")
	}
	for _, want := range []string{"gateway.lock", "no locks available", "--lock-dir"} {
		if !strings.Contains(g.output(), want) {
			t.Errorf("it does not say %q:\n%s", want, g.output())
		}
	}
	if code != 78 {
		t.Errorf("exit code %d, want 78", code)
	}
	locks := newHome(t)
	with := start(t, home, quick, "--lock-dir", locks)
	second := spawn(t, home, quick, "--lock-dir", locks)
	if code := second.exit(); code != 69 {
		t.Errorf("a second gateway ended with %d, want 69", code)
	}
	var status struct{ PID int }
	out, _ := with.verb("status", "--json")
	if json.Unmarshal([]byte(out), &status) != nil || status.PID != with.cmd.Process.Pid {
		t.Errorf("status: %s", out)
	}
	if code, _ := with.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
