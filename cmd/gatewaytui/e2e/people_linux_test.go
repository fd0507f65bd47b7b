package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// visitors is a bot and the people who write to it.
type visitors struct {
	t   *testing.T
	bot *botapitest.Server
}

func newVisitors(t *testing.T) *visitors {
	v := &visitors{t, botapitest.New(botToken)}
	t.Cleanup(v.bot.Close)
	return v
}

// config is one whose owner is 1 and whose member is 47.
func (v *visitors) config(access string) string {
	text := strings.Replace(withBot(v.t, v.bot), "allow_all = true", "allow = [47]", 1)
	return text + "[access]\nowners = [\"telegram:1\"]\n" + access
}

// got are the messages to a person.
func (v *visitors) got(user int64) (texts []string) {
	for _, m := range v.bot.Sent() {
		if m.ChatID == user {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// says sends a message, and returns the next one to its sender.
func (v *visitors) says(user int64, text string) (answer string) {
	v.t.Helper()
	before := len(v.got(user))
	v.bot.Inject(botapitest.Update{User: user, Text: text})
	eventually.True(v.t, strconv.FormatInt(user, 10)+" gets an answer to "+text, func() bool {
		if all := v.got(user); len(all) > before {
			answer = all[before]
		}
		return answer != ""
	})
	return answer
}

// silent fails if one of these people hears something. The member's answer shows that the messages were handled.
func (v *visitors) silent(text string, users ...int64) {
	v.t.Helper()
	before := map[int64]int{}
	for _, u := range users {
		before[u] = len(v.got(u))
		v.bot.Inject(botapitest.Update{User: u, Text: text})
	}
	v.says(47, "hello")
	eventually.True(v.t, "all updates are handled", func() bool { return v.bot.Unconfirmed() == 0 })
	for _, u := range users {
		if all := v.got(u)[before[u]:]; len(all) > 0 {
			v.t.Errorf("%d hears %q", u, all)
		}
	}
}

var codeIn = regexp.MustCompile(`for an hour: ([A-Z0-9]{8})`)

func (v *visitors) code(user int64) string {
	v.t.Helper()
	m := codeIn.FindStringSubmatch(v.says(user, "hello"))
	if m == nil {
		v.t.Fatalf("%d got no code: %q", user, v.got(user))
	}
	return m[1]
}

func TestTR2_AnUnknownUserIsLetInAndRemovedWithoutARestart(t *testing.T) {
	t.Parallel() // it mostly waits
	v, home := newVisitors(t), newHome(t)
	config := v.config("strangers = \"pair\"\n")
	g := start(t, home, config)
	code := v.code(7)
	if out, exit := g.verb("inbox", "--json"); exit != 0 || !strings.Contains(out, `"pairing"`) || !strings.Contains(out, "telegram:7") || strings.Contains(out, code) {
		t.Errorf("the inbox: %d %s", exit, out)
	}
	if out, exit := g.verb("people", "approve", "AAAAAAAA"); exit != 1 || !strings.Contains(out, "4 more wrong codes") {
		t.Errorf("a wrong code: %d %s", exit, out)
	}
	if out, exit := g.verb("people", "approve", code); exit != 0 || !strings.Contains(out, "telegram:7") {
		t.Fatalf("people approve: %d %s", exit, out)
	}
	if got := v.says(7, "hello"); strings.Contains(got, "allow list") {
		t.Errorf("who was let in hears %q", got)
	}
	if got := v.says(7, "run: echo reached"); !strings.Contains(got, "no tools are available") {
		t.Errorf("a guest who wants a tool hears %q", got)
	}
	if got := v.says(7, "/people"); !strings.Contains(got, "for owners") {
		t.Errorf("a guest's /people: %q", got)
	}
	if got := v.says(1, "/people approve "+v.code(8)+" owner"); !strings.Contains(got, "elegram:8") {
		t.Errorf("an owner's /people approve: %q", got)
	}
	if got := v.says(8, "run: echo $((6*7))"); !strings.Contains(got, "42") {
		t.Errorf("an owner who wants a tool hears %q", got)
	}
	for _, id := range []string{"telegram:7", "telegram:47"} {
		if out, exit := g.verb("people", "remove", id, "--yes"); exit != 0 {
			t.Errorf("people remove %s: %d %s", id, exit, out)
		}
	}
	if out, exit := g.verb("people", "add", "telegram:47"); exit != 0 { // for silent
		t.Errorf("people add: %d %s", exit, out)
	}
	v.silent("hello?", 7)
	g.stop()

	g = start(t, home, config)
	v.silent("hello??", 7)
	if got := v.says(8, "hello"); strings.Contains(got, "allow list") {
		t.Errorf("after a restart who was let in hears %q", got)
	}
	var page ops.Page[ops.Person]
	out, _ := g.verb("people", "--json")
	if err := json.Unmarshal([]byte(out), &page); err != nil {
		t.Fatalf("people --json: %v\n%s", err, out)
	}
	got := map[string]string{}
	for _, p := range page.Items {
		got[p.ID] = string(p.Role) + " " + string(p.State) + " " + string(p.Source)
	}
	for id, want := range map[string]string{
		"telegram:1": "owner allowed config", "telegram:47": "member allowed config", "telegram:7": " blocked verb", "telegram:8": "owner allowed pairing",
	} {
		if got[id] != want {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
	if status := g.socket(http.MethodPost, "/v1/people/telegram:8/role", map[string]string{"role": "admin"}, nil); status != http.StatusBadRequest {
		t.Errorf("an unknown role is answered %d", status)
	}
	if out, exit := g.verb("people", "role", "telegram:8", "admin"); exit != 2 || !strings.Contains(out, "use owner, member or guest") {
		t.Errorf("an unknown role: %d %s", exit, out)
	}
	if out, exit := g.verb("people", "forget", "telegram:8", "--yes"); exit != 0 {
		t.Errorf("people forget: %d %s", exit, out)
	}
	if out, _ := g.verb("people"); strings.Contains(out, "telegram:8") {
		t.Errorf("a row of the forgotten person is left:\n%s", out)
	}
	g.stopsClean()
}

func TestTR2_AnUnknownUserHearsOnceHowToBeLetIn(t *testing.T) {
	v, home := newVisitors(t), newHome(t)
	g := start(t, home, v.config(""))
	if got := v.says(7, "hello"); !strings.Contains(got, "Your user id is 7;") || !strings.Contains(got, "people add telegram:7") {
		t.Errorf("an unknown user hears %q", got)
	}
	v.silent("hello?", 7)
	g.kill()
	g = start(t, home, v.config(""))
	v.silent("hello??", 7)
	if out, exit := g.verb("people", "add", "telegram:7", "--role", "guest"); exit != 0 {
		t.Errorf("people add: %d %s", exit, out)
	}
	if got := v.says(7, "/whoami"); !strings.Contains(got, "Your role: guest") {
		t.Errorf("/whoami: %q", got)
	}
	g.stopsClean()
}

func TestTR1_AnUnknownRoleInTheConfigIsNoStart(t *testing.T) {
	v := newVisitors(t)
	for _, text := range []string{v.config("strangers = \"maybe\"\n"), v.config("[adapters.api]\nrole = \"admin\"\n"), v.config("[[routes]]\nmatch = \"*\"\nrole = \"admin\"\n")} {
		g := spawn(t, newHome(t), text)
		if code := g.exit(); code != 78 {
			t.Errorf("the exit code is %d, want 78:\n%s", code, g.output())
		}
	}
}
