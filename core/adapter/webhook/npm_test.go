package webhook

import (
	_ "embed"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/signature"
	"gatewaytui/fixtures/npmtest"
)

// The scripts of the senders, which emulate plays.
var (
	//go:embed testdata/github.cjs
	githubScript string
	//go:embed testdata/twilio.cjs
	twilioScript string
)

// emulate is a package of npm with doubles of GitHub and Twilio that other authors wrote.
const emulate, emulateVersion = "emulate", "0.12.2"

// port is a TCP port that was free a moment ago.
func port(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func TestHR9_TheRequestsOfADoubleOfGitHubAreUnderstood(t *testing.T) {
	dir := npmtest.Install(t, emulate, emulateVersion)
	w := begin(t, map[string]Route{"hub": {Scheme: signature.GitHub, Prompt: "{{.header.X-GitHub-Event}}: {{.json.issue.title}} ({{.json.action}})"}})
	said := npmtest.Serve(t, dir, githubScript, fmt.Sprintf("http://%s/hub", w.p.Addr()), port(t))
	if said != "issues 202, ping 204" {
		t.Errorf("its deliveries are %q", said)
	}
	all := w.Messages()
	if len(all) != 1 {
		t.Fatalf("%d messages were handed on, want 1: %+v", len(all), all)
	}
	if !strings.HasSuffix(all[0].Text, `"issues": "it broke" ("opened")`) {
		t.Errorf("the agent reads %q", all[0].Text)
	}
}

func TestHR9_TheRequestsOfADoubleOfTwilioAreUnderstood(t *testing.T) {
	dir := npmtest.Install(t, emulate, emulateVersion)
	listen := "127.0.0.1:" + port(t)
	address := "http://" + listen + "/sms"
	w := beginAt(t, listen, map[string]Route{"sms": {Scheme: signature.Twilio, Secret: "twilio_test_auth_token", Address: address, Prompt: "{{.form.From}}: {{.form.Body}}"}})
	if said := npmtest.Serve(t, dir, twilioScript, address, port(t)); said != "201" {
		t.Errorf("the message was answered with %s", said)
	}
	all := w.Messages()
	if len(all) != 1 || !strings.HasSuffix(all[0].Text, `"+15550002222": "is it up?"`) {
		t.Errorf("the messages are %+v", all)
	}
}
