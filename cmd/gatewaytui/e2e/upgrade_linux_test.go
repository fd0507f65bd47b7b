package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
	"gatewaytui/fixtures/upgrade"
)

// firstEdition is a copy of the home that the first edition left.
func firstEdition(t testing.TB) (home string) {
	t.Helper()
	home = newHome(t)
	upgrade.Unpack(t, home)
	return home
}

// openRows are the rows of a store that are not over, each as its identity and its content, by table. Retention may delete
// the others.
var openRows = map[string]string{
	"sessions": `SELECT id, key FROM %s.sessions WHERE ended_at IS NULL`,
	"turns":    `SELECT t.id, t.session_id FROM %[1]s.turns t JOIN %[1]s.sessions s ON s.id = t.session_id WHERE s.ended_at IS NULL`,
	"messages": `SELECT m.seq, m.session_id || ' ' || m.role || ' ' || m.content FROM %[1]s.messages m JOIN %[1]s.sessions s ON s.id = m.session_id WHERE s.ended_at IS NULL`,
	"inbox":    `SELECT id, text FROM %s.inbox`,
	"outbox":   `SELECT id, text FROM %s.outbox`,
	"lives":    `SELECT id, version FROM %s.lives`,
}

// missing are some of the open rows of home before that home after does not have, each with its table, and how many rows
// home before has by table. No gateway may have the homes.
func missing(t testing.TB, before, after string) (lost []string, had map[string]int) {
	t.Helper()
	db := database(t, after)
	defer db.Close()
	db.SetMaxOpenConns(1) // one connection has the attached database
	if _, err := db.Exec("ATTACH ? AS before", filepath.Join(before, "gateway.db")); err != nil {
		t.Fatal(err)
	}
	had = map[string]int{}
	for table, query := range openRows {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM (" + fmt.Sprintf(query, "before") + ")").Scan(&n); err != nil {
			t.Fatal(err)
		}
		had[table] = n
		rows, err := db.Query(fmt.Sprintf(query, "before") + " EXCEPT " + fmt.Sprintf(query, "main") + " LIMIT 3")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, content string
			if err := rows.Scan(&id, &content); err != nil {
				t.Fatal(err)
			}
			lost = append(lost, fmt.Sprintf("%s: %s %.80q", table, id, content))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return lost, had
}

func database(t testing.TB, home string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// A home of the first edition, whose last life was killed in the middle of two turns, starts with its own config: every key
// is known, the killed life is reported, what waited is worked on and delivered, and no row is lost.
func TestAHomeOfTheFirstEditionIsTakenOver(t *testing.T) {
	t.Parallel() // it mostly waits
	home := firstEdition(t)
	bot := botapitest.New("4242:made-up")
	defer bot.Close()
	setenv(t, upgrade.Token, "4242:made-up")
	setenv(t, "GATEWAYTUI_ADAPTERS_TELEGRAM_BASE_URL", bot.URL)
	g := start(t, home, upgrade.Config)

	var st struct {
		LastEnd  struct{ Life, Outcome string } `json:"last_end"`
		Counts   struct{ Sessions int }
		Warnings []struct{ Code, Message string }
	}
	g.socket(http.MethodGet, "/v1/status", nil, &st)
	if st.LastEnd.Outcome != "crashed" {
		t.Errorf("the last end is %+v, want a crash", st.LastEnd)
	}
	for _, w := range st.Warnings {
		// The clock and the user are the machine's, and the config lets everyone write to the bot.
		if w.Code != "clock" && !strings.HasPrefix(w.Code, "security.") && !slices.Contains(newKeys, w.Code) {
			t.Errorf("warning %s: %s", w.Code, w.Message)
		}
	}
	eventually.True(t, "every session is listed", func() bool {
		g.socket(http.MethodGet, "/v1/status", nil, &st)
		return st.Counts.Sessions >= 10_020
	})
	var waited []string
	for i := range 10 {
		waited = append(waited, fmt.Sprintf("an answer that is not sent, %d", i))
	}
	for i := range 3 {
		waited = append(waited, fmt.Sprintf("queued %d", i))
	}
	for _, text := range waited {
		eventually.True(t, fmt.Sprintf("the chat gets %q", text), func() bool { return sent(bot, text) > 0 })
	}
	eventually.True(t, "the chat whose turn was cut off has the notice", func() bool {
		return slices.ContainsFunc(bot.Sent(), func(m botapitest.Sent) bool {
			return m.ChatID == 4700 && !slices.Contains(waited, m.Text)
		})
	})
	if reply, status := g.chat("user-09999", "echo once more"); reply != "once more" || status != http.StatusOK {
		t.Errorf("an old session answered %d %q", status, reply)
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
	for _, text := range waited {
		if n := sent(bot, text); n != 1 {
			t.Errorf("%q was sent %d times, want once", text, n)
		}
	}
	lost, had := missing(t, firstEdition(t), home)
	for _, row := range lost {
		t.Errorf("lost: %s", row)
	}
	for table, least := range map[string]int{"sessions": 10_020, "turns": 10_200, "messages": 20_400, "inbox": 34, "outbox": 30, "lives": 2} {
		if had[table] < least {
			t.Errorf("the home of the first edition has %d rows of %s, want at least %d", had[table], table, least)
		}
	}
}

// sent is how many messages of the bot have the text.
func sent(bot *botapitest.Server, text string) (n int) {
	for _, m := range bot.Sent() {
		if m.Text == text {
			n++
		}
	}
	return n
}

// A home of the first edition gets one warning for each changed default that its config does not set, once.
func TestAChangedDefaultIsReportedOnceOnAHomeOfTheFirstEdition(t *testing.T) {
	t.Parallel() // it mostly waits
	reported := func(home, config string) (codes []string) {
		g := start(t, home, config)
		var st struct{ Warnings []struct{ Code string } }
		g.socket(http.MethodGet, "/v1/status", nil, &st)
		for _, w := range st.Warnings {
			if strings.HasPrefix(w.Code, "upgrade.") {
				codes = append(codes, w.Code)
			}
		}
		var logged []string
		for _, l := range g.log() {
			if strings.HasPrefix(l.text("event"), "upgrade.") && l.text("level") == "WARN" {
				logged = append(logged, l.text("event"))
			}
		}
		if !slices.Equal(logged, codes) {
			t.Errorf("the log tells of %q, status of %q", logged, codes)
		}
		if code, _ := g.stop(); code != 0 {
			t.Errorf("the stop ended with %d", code)
		}
		return codes
	}
	setenv(t, "SEEN_BY_TOOLS_ONCE", "1")
	home := firstEdition(t)
	first := reported(home, "")
	t.Logf("changed defaults: %q", first)
	slices.Sort(first)
	if again := slices.Compact(slices.Clone(first)); len(again) != len(first) {
		t.Errorf("a change was reported twice: %q", first)
	}
	if second := reported(home, ""); len(second) > 0 {
		t.Errorf("the second life reported %q again", second)
	}
	setenv(t, upgrade.Token, "4242:made-up")
	if set := reported(firstEdition(t), upgrade.Config); !slices.Equal(set, newKeys) {
		t.Errorf("a config that sets every key of its edition got warnings of %q, want %q alone", set, newKeys)
	}
}

// newKeys are the changes of what the first edition always did and had no key for.
var newKeys = []string{"upgrade.leave_grace", "upgrade.limits", "upgrade.session_from", "upgrade.api_model", "upgrade.retention", "upgrade.telegram_groups", "upgrade.busy", "upgrade.budget", "upgrade.strangers", "upgrade.api_callers", "upgrade.tools_environment"}

// Every key of the first edition's config is known.
func TestTheConfigOfTheFirstEditionIsValid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(upgrade.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := verb(t, newHome(t), "config", "check", "--config", file); code != 0 {
		t.Errorf("config check ended with %d:\n%s", code, out)
	}
}

// A store of a newer edition is refused with both versions, and is left as it is.
func TestAStoreOfANewerEditionIsRefused(t *testing.T) {
	home := firstEdition(t)
	db := database(t, home)
	_, err := db.Exec("PRAGMA user_version = 1000")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(home, "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	g := spawn(t, home, "")
	refusedAsNewer(t, g.exit(), 78, g.output(), 1000)
	after, err := os.ReadFile(filepath.Join(home, "gateway.db"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the refused store was changed (%v)", err)
	}
}

// refusedAsNewer checks how a start ended that met a store of version. The first edition ends with 1.
func refusedAsNewer(t *testing.T, code, want int, output string, version int) {
	t.Helper()
	if code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	for _, want := range []string{fmt.Sprintf("schema version %d", version), "this program knows ", "newer", "gateway.db"} {
		if !strings.Contains(output, want) {
			t.Errorf("%q is missing in:\n%s", want, output)
		}
	}
}

// The first edition itself, built from the history, refuses a home that this program has had.
func TestTheFirstEditionRefusesAHomeThatWasUpgraded(t *testing.T) {
	const edition = "025c594"
	if !soak.On() {
		t.Skip("runs under make soak: it builds a whole program")
	}
	if out, err := exec.Command("git", "cat-file", "-e", edition+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("runs where the history has %s: %v %s", edition, err, out)
	}
	source := t.TempDir()
	old := filepath.Join(source, "gatewaytui")
	script := fmt.Sprintf("set -eo pipefail; cd \"$(git rev-parse --show-toplevel)\"; git archive %s | tar -x -C '%s'; cd '%s'; CGO_ENABLED=0 go build -o '%s' ./cmd/gatewaytui", edition, source, source, old)
	if out, err := exec.Command("bash", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", edition, err, out)
	}
	home := firstEdition(t)
	if code, _ := start(t, home, "").stop(); code != 0 {
		t.Fatalf("the stop ended with %d", code)
	}
	var version int
	db := database(t, home)
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(old, "--no-tui", "--home", home)
	cmd.Env = append(os.Environ(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	refusedAsNewer(t, cmd.ProcessState.ExitCode(), 1, string(out), version)
}

// BenchmarkReadyAfterAnUpgrade is from exec to ready on a home of the first edition: a recovery after SIGKILL, and the
// migration of the store.
func BenchmarkReadyAfterAnUpgrade(b *testing.B) { benchReady(b, firstEdition) }

// A request with user alone, whose session of the first edition has a history, is warned of once in a life.
func TestARequestThatNamesItsSessionWithUserIsWarnedOfOnceALife(t *testing.T) {
	home := newHome(t)
	for life := range 2 {
		g := start(t, home, quick)
		if life == 0 {
			if reply, status := g.chat("ann", "hello"); status != http.StatusOK { // the session api:user:ann has a history from now on
				t.Fatalf("%d %s", status, reply)
			}
		}
		ask := func(user string) {
			t.Helper()
			res, err := http.Post(g.url(), "application/json", strings.NewReader(saying(user, "hello")))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
		warned := func(l line) bool { return l.text("event") == ops.LogUserLabel }
		ask("bob")
		if slices.ContainsFunc(g.log(), warned) {
			t.Error("a request whose user has no history is warned of")
		}
		ask("ann")
		if l := g.await("the warning", warned); l.text("session") != "api:user:ann" || l.text("level") != "WARN" {
			t.Errorf("the warning is %v", l)
		}
		ask("ann")
		if code, _ := g.stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if n := strings.Count(g.output(), ops.LogUserLabel); n != 1 {
			t.Errorf("%d warnings in one life, want one", n)
		}
	}
}
