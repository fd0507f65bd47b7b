package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// dendriteVersion is that of the homeserver of other authors that the adapter is tried with.
const dendriteVersion = "v0.15.2"

// dendrite is a homeserver that runs.
type dendrite struct {
	testing.TB
	url     string
	process *os.Process
}

// dendritePrograms returns the folder with the programs of the homeserver, which it builds the first time, in minutes.
func dendritePrograms(t testing.TB) (dir string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		soak.Missing(t, "runs where there is a cache folder to build a homeserver in: %v", err)
	}
	dir = filepath.Join(cache, "gatewaytui-test", "dendrite-"+dendriteVersion)
	if _, err := os.Stat(filepath.Join(dir, "dendrite")); err == nil {
		return dir
	}
	source, fresh := t.TempDir(), dir+".building"
	const programs = "github.com/element-hq/dendrite/cmd/dendrite github.com/element-hq/dendrite/cmd/generate-keys"
	for name, text := range map[string]string{
		"go.mod":   "module peer\n\ngo 1.24\n\nrequire github.com/element-hq/dendrite " + dendriteVersion + "\n",
		"tools.go": "//go:build tools\n\npackage tools\n\nimport (\n\t_ \"" + strings.ReplaceAll(programs, " ", "\"\n\t_ \"") + "\"\n)\n",
	} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"mod", "tidy"}, append([]string{"build", "-o", fresh + "/"}, strings.Fields(programs)...)} {
		build := exec.CommandContext(t.Context(), "go", args...)
		build.Dir, build.WaitDelay = source, time.Second
		build.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath -buildvcs=false", "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			soak.Missing(t, "runs where Dendrite can be built: go %s: %v: %.2000s", args[0], err, out)
		}
	}
	if err := os.Rename(fresh, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startDendrite runs a homeserver on 127.0.0.1 until the test ends.
func startDendrite(t testing.TB) *dendrite {
	t.Helper()
	programs, dir := dendritePrograms(t), t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	at := func(name string) string { return fmt.Sprintf("{connection_string: \"file:%s/%s.db\"}", dir, name) }
	config := "version: 2\nglobal: {server_name: localhost, private_key: " + dir + "/key.pem, disable_federation: true, jetstream: {in_memory: true, storage_path: " + dir + "}, cache: {max_size_estimated: 64mb}}\n" +
		"client_api: {registration_disabled: false, rate_limiting: {enabled: false}}\nlogging: [{type: std, level: warn}]\nuser_api: {bcrypt_cost: 4, account_database: " + at("accounts") + "}\n" +
		"media_api: {base_path: " + dir + "/media, database: " + at("media") + "}\n"
	for _, part := range []string{"federation_api", "key_server", "mscs", "relay_api", "room_server", "sync_api"} {
		config += part + ": {database: " + at(part) + "}\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(programs, "generate-keys"), "-private-key", filepath.Join(dir, "key.pem")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	run := exec.Command(filepath.Join(programs, "dendrite"), "-config", filepath.Join(dir, "config.yaml"), "-http-bind-address", address, "-really-enable-open-registration")
	run.Dir, run.Stdout, run.Stderr = dir, said, said
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill() // of one that ended
		_ = run.Wait()         // it was killed
		if t.Failed() {
			text, _ := os.ReadFile(said.Name())
			t.Logf("the homeserver said %.4000s", text)
		}
	})
	d := &dendrite{t, "http://" + address, run.Process}
	eventually.True(t, "the homeserver answers", func() bool {
		resp, err := http.Get(d.url + "/_matrix/client/versions")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return d
}

// user is an account, as its program uses the API.
type user struct {
	*dendrite
	*api
	id string
}

func (d *dendrite) register(name string) *user {
	d.Helper()
	var made struct {
		User  string `json:"user_id"`
		Token string `json:"access_token"`
	}
	text, err := encode(map[string]any{"username": name, "password": "a-password-of-a-test", "auth": map[string]string{"type": "m.login.dummy"}})
	if err != nil {
		d.Fatal(err)
	}
	resp, err := http.Post(d.url+v3+"/register", "application/json", strings.NewReader(string(text)))
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Token == "" {
		d.Fatalf("register %s: %v, %s", name, err, resp.Status)
	}
	a, err := New(Options{Homeserver: d.url, Token: made.Token}).open()
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(a.close)
	return &user{d, a, made.User}
}

// must makes a call that must succeed.
func (u *user) must(r request, out any) {
	u.Helper()
	if err := u.call(u.Context(), r, out); err != nil {
		u.Fatal(err)
	}
}

func (u *user) room(in map[string]any) string {
	u.Helper()
	var made struct {
		Room string `json:"room_id"`
	}
	u.must(request{verb: http.MethodPost, path: v3 + "/createRoom", in: in}, &made)
	return made.Room
}

func (u *user) say(room, typed string, in any) string {
	u.Helper()
	id, err := u.put(u.Context(), room, typed, in, transaction("", 0))
	if err != nil {
		u.Fatal(err)
	}
	return id
}

// texts are the bodies of the messages of others in a room, in order, as they were sent.
func (u *user) texts(room string) (texts []string) {
	u.Helper()
	var page struct {
		Events []jsonEvent `json:"chunk"`
	}
	u.must(request{verb: http.MethodGet, path: path(v3, "rooms", room, "messages"), query: map[string][]string{"dir": {"b"}, "limit": {"100"}}}, &page)
	for _, e := range page.Events {
		if e.is && e.event.Type == typeMessage && e.event.Sender != u.id && !e.event.redacted() {
			texts = append([]string{e.content.Body}, texts...)
		}
	}
	return texts
}

// PL3: rooms, threads, edits, reactions, buttons, files and a restart, against a homeserver of other authors.
func TestPL3_DendriteIsAHomeserver(t *testing.T) {
	if !soak.On() {
		t.Skip("runs under make soak: it builds and runs a homeserver")
	}
	d := startDendrite(t)
	alice, bot := d.register("alice"), d.register("bot")
	group := alice.room(map[string]any{"preset": "public_chat", "name": "ops"})
	in := &conformance.Receiver{}
	in.Only([]string{alice.id})
	options := Options{Homeserver: d.url, User: bot.id, Token: bot.p.o.Token, Groups: []string{group}}
	connect := func() *conn {
		t.Helper()
		c, err := New(options).Connect(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return c.(*conn)
	}
	heard := func(n int) adapter.Inbound {
		t.Helper()
		eventually.True(t, fmt.Sprintf("%d messages are received", n), func() bool { return len(in.Messages()) >= n })
		return in.Messages()[n-1]
	}
	c := connect()

	dm := alice.room(map[string]any{"preset": "trusted_private_chat", "is_direct": true, "invite": []string{bot.id}})
	alice.say(dm, typeMessage, message("hello"))
	m := heard(1)
	if m.Text != "hello" || m.Session != "matrix:dm:"+alice.id || m.Target != dm {
		t.Fatalf("received %+v", m)
	}
	if err := c.Typing(t.Context(), dm); err != nil {
		t.Error(err)
	}
	once := adapter.Outgoing{Target: dm, Text: "**once**", Markdown: true, Key: "01J"}
	first, err := c.Send(t.Context(), once)
	once.Repeated = true
	again, errAgain := c.Send(t.Context(), once)
	if err != nil || errAgain != nil || first.IDs[0] != again.IDs[0] {
		t.Errorf("sent %v, %v and %v, %v", first, err, again, errAgain)
	}
	once.Repeated = false
	once.Text = "edited"
	if _, err := c.Edit(t.Context(), first.IDs[0], once); err != nil {
		t.Error(err)
	}
	for _, emoji := range []string{"👀", "👍", "👍", ""} {
		if err := c.React(t.Context(), dm, m.ID, emoji); err != nil {
			t.Errorf("the reaction %q: %v", emoji, err)
		}
	}
	asks := adapter.Outgoing{Target: dm, Text: "run it?", Buttons: [][]adapter.Button{{{Label: "Yes", Text: "/approve 1"}, {Label: "No", Text: "/deny 1"}}}}
	asked, err := c.Send(t.Context(), asks)
	if err != nil {
		t.Fatal(err)
	}
	press := func(key string) {
		t.Helper()
		alice.say(dm, typeReaction, reaction{relation{Kind: relAnnotation, Event: asked.IDs[0], Key: key}})
	}
	press("Yes")
	if m := heard(2); m.Text != "/approve 1" {
		t.Errorf("received %+v", m)
	}
	if _, err := c.Edit(t.Context(), asked.IDs[0], adapter.Outgoing{Target: dm, Text: "it ran"}); err != nil {
		t.Error(err)
	}
	press("No") // it is gone
	file, err := alice.upload(t.Context(), adapter.OutgoingFile{Name: "a.txt", Type: "text/plain", Content: []byte("content")})
	if err != nil {
		t.Fatal(err)
	}
	alice.say(dm, typeMessage, file)
	if m := heard(3); len(m.Files) != 1 || m.Files[0].Name != "a.txt" {
		t.Errorf("received %+v", m)
	} else if content, err := c.Fetch(t.Context(), m.Files[0].Ref, 7); err != nil || string(content) != "content" {
		t.Errorf("fetched %q, %v", content, err)
	}
	for range 2 {
		if _, err := c.SendFile(t.Context(), dm, adapter.OutgoingFile{Name: "b.txt", Content: []byte("more"), Key: "01K"}); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := c.Remove(t.Context(), dm, asked.IDs[0]); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Edit(t.Context(), asked.IDs[0], asks); !is[*adapter.RefusedError](err) {
		t.Errorf("the edit of a message that is gone returned %v", err)
	}
	if got, want := fmt.Sprintf("%q", alice.texts(dm)), `["once" "* edited" "* it ran" "b.txt"]`; got != want {
		t.Errorf("the room has %s, want %s", got, want)
	}

	alice.must(request{verb: http.MethodPost, path: path(v3, "rooms", group, "invite"), in: map[string]string{"user_id": bot.id}}, nil)
	root := alice.say(group, typeMessage, message("a topic"))
	named := message("bot: hello")
	named.Mentions = &mentions{Users: []string{bot.id}}
	named.Relates = &relation{Kind: relThread, Event: root, Falls: true, Answers: &related{root}}
	in4 := heard(4) // what was said after the invitation
	alice.say(group, typeMessage, named)
	threaded := heard(5)
	if in4.Text != "a topic" || in4.Mentioned || threaded.Text != "hello" || !threaded.Mentioned || threaded.Session != "matrix:group:"+group+":thread:"+root {
		t.Errorf("received %+v and %+v", in4, threaded)
	}
	answer, err := c.Send(t.Context(), adapter.Outgoing{Target: threaded.Target, Text: "answer"})
	if err != nil {
		t.Fatal(err)
	}
	if _, was, err := alice.event(t.Context(), group, answer.IDs[0]); err != nil || was.thread() != root {
		t.Errorf("the answer is %+v, %v", was, err)
	}
	if err := conformance.TakeDown(c); err != nil {
		t.Error(err)
	}

	want := []string{"hello", "/approve 1", "", "a topic", "hello"}
	for i := range 3 * timelineMost {
		want = append(want, fmt.Sprintf("in the gap %d", i))
		alice.say(dm, typeMessage, message(want[len(want)-1]))
	}
	c = connect()
	heard(len(want))
	in.WantTexts(t, want...)

	if err := d.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Send(ctx, once); err == nil || time.Since(began) > 2*time.Second {
		t.Errorf("a send to a homeserver that stands still returned %v after %s", err, time.Since(began))
	}
	began = time.Now()
	_ = conformance.TakeDown(c) // it cannot keep its place
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the teardown took %s", took)
	}
	if err := d.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c = connect()
	alice.say(dm, typeMessage, message("the last"))
	heard(len(want) + 1)
	in.WantTexts(t, append(want, "the last")...)
	if err := conformance.TakeDown(c); err != nil {
		t.Error(err)
	}
}
