package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gatewaytui/fixtures/eventually"
)

// OP2: with console.texts = "none" no answer of the socket has a word that was said or written by a process, and no
// verb prints one. With "all" the same calls have it.
func TestOP2_WithoutTextsNoAnswerHasWhatWasSaid(t *testing.T) {
	const word = "Rumpelstilzchen"
	for _, texts := range []string{"all", "lengths", "none"} {
		t.Run(texts, func(t *testing.T) {
			g := start(t, newHome(t), fmt.Sprintf("[console]\ntexts = %q\n", texts))
			if reply, status := g.chat("a", "echo "+word); status != http.StatusOK || !strings.Contains(reply, word) {
				t.Fatalf("the program that talks is answered %d %q", status, reply)
			}
			pid := g.job("a", `printf 'Rumpel%s\n' stilzchen; exec sleep 60`)
			if pid == 0 {
				t.Fatal("no process runs")
			}
			sent, _ := g.verb("send", "--session", "api:user:a", "--json", "echo "+word)
			var req struct {
				ID string `json:"request"`
			}
			if err := json.Unmarshal([]byte(sent), &req); err != nil {
				t.Fatalf("send printed %q: %v", sent, err)
			}
			session := "/v1/sessions/" + url.PathEscape("api:user:a")
			paths := []string{
				"/v1/status", "/v1/snapshot", "/v1/sessions", "/v1/sessions?key=" + url.QueryEscape("api:user:a"), session + "/transcript", session + "/transcript?before=",
				"/v1/agents", "/v1/processes", fmt.Sprintf("/v1/processes/%d/output", pid), "/v1/search?q=" + word, "/v1/inbox", "/v1/usage", "/v1/history", "/v1/plan",
				"/v1/requests/" + req.ID, "/v1/people", "/v1/environments",
			}
			read := func() (all, whose string) {
				all = sent
				for _, path := range paths {
					var answer string
					g.socket("GET", path, nil, &answer)
					if strings.Contains(answer, word) {
						all, whose = all+answer, whose+" "+path
					}
				}
				for _, args := range [][]string{{"transcript", "api:user:a"}, {"export", "api:user:a"}, {"search", word}, {"sessions"}, {"processes"}} {
					if out, _ := g.verb(args...); strings.Contains(out, word) && args[0] != "search" { // its error names what was looked for
						all, whose = all+out, whose+" "+args[0]
					}
				}
				return all, whose
			}
			if texts == "all" {
				eventually.True(t, "it is said everywhere", func() bool {
					_, whose := read()
					return strings.Contains(whose, "/transcript") && strings.Contains(whose, "/output") && strings.Contains(whose, "/search") && strings.Contains(whose, "/requests") && strings.Contains(whose, "export")
				})
				return
			}
			if all, whose := read(); strings.Contains(all, word) {
				t.Errorf("what was said is in%s:\n%s", whose, all)
			}
			status := g.socket("GET", session+"/transcript", nil, nil)
			if want := map[string]int{"lengths": http.StatusOK, "none": http.StatusForbidden}[texts]; status != want {
				t.Errorf("the transcript is answered %d, want %d", status, want)
			}
		})
	}
}
