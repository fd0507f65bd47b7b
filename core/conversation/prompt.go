package conversation

import (
	"slices"
	"strings"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// own is the system prompt of an agent that has none of its own; ownTools has a sentence for each tool that it can call.
const own = "You are an assistant behind a chat gateway on a machine of your user."

var ownTools = []struct{ tool, sentence string }{
	{"terminal", "You can run shell commands with the terminal tool."},
	{"process", "You can watch and end what you started with the process tool."},
	{"delegate", "You can hand a task to a child agent with delegate."},
	{"files_read", "You can read, change, list and search the files of your work folder with files_read, files_edit, files_write, files_list and files_search."},
	{"memory_save", "You can keep notes beyond this conversation with memory_save, and find and delete them with memory_search and memory_forget."},
	{"send_file", "You can send a file of your work folder to the chat with send_file."},
	{"job_create", "You can do something later, or again and again, with job_create."},
}

// maxVariable bounds the value of a variable of a prompt, in cells.
const maxVariable = 200

// systemPrompt is the system prompt of a turn: the definition's, or the gateway's own, and what the agent's folder adds. A turn
// without tools has no skills.
func (c *Conversations) systemPrompt(d *agent.Definition, t *session.Turn, tools bool) string {
	return strings.TrimSpace(basePrompt(d, t, tools) + "\n\n" + c.o.Workspace.Prompt(d.Skills && tools))
}

// basePrompt is the definition's prompt with its variables filled in, else the gateway's own.
func basePrompt(d *agent.Definition, t *session.Turn, tools bool) string {
	if d.Prompt == "" {
		sentences := []string{own}
		for _, one := range ownTools {
			if tools && slices.Contains(d.Tools.Names(), one.tool) {
				sentences = append(sentences, one.sentence)
			}
		}
		return strings.Join(append(sentences, "Answer briefly and say truthfully what you did."), " ")
	}
	key := session.Owner(t.Session.Key)
	_, chat, _ := strings.Cut(key, ":")
	return text.Fill(d.Prompt, map[string]string{
		"date":      t.Started.Local().Format("Monday, 2 January 2006"),
		"time_zone": timeZone(t.Started.Local()),
		"platform":  term.Clean(session.Platform(key), maxVariable),
		"chat":      term.Clean(chat, maxVariable),
		"speaker":   term.Clean(t.Message.User, maxVariable),
	})
}

// timeZone is the time zone of a local time as a person reads it: "CET (UTC+01:00)".
func timeZone(at time.Time) string { return at.Format("MST (UTC-07:00)") }
