package delivery

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

const (
	// maxLines is how many lines of a group are remembered, and maxLine the most of one, in cells.
	maxLines = 20
	maxLine  = 300
	// maxGroups bounds the groups whose lines are remembered.
	maxGroups = 256
	// maxQuoted bounds the text that a message answers, in bytes.
	maxQuoted = 4000
)

// Mention is which messages of a group are answered. The zero value is those that name the bot, answer it or are commands.
type Mention string

// Sessions is whose a conversation in a group is. The zero value is one for each thread, and for each member where there are none.
type Sessions string

// The other values of Mention and Sessions.
const (
	MentionAlways   Mention  = "always"
	MentionNever    Mention  = "never" // only commands
	SessionsShared  Sessions = "shared"
	SessionsPerUser Sessions = "per_user"
)

// Rules are those of a group.
type Rules struct {
	Mention  Mention
	Sessions Sessions
}

// member is what the key of a member's session has behind that of the group.
const member = ":user:"

// keyOf is the key of the session of a message. Platforms give one to each member of a group and one to each thread; the rules of
// the chat may say otherwise. A guest has a conversation alone: what a guest writes is in no transcript that a turn with tools reads
// (TR1).
func keyOf(in adapter.Inbound, s Sessions, role ops.Role) string {
	if role == ops.RoleGuest {
		s = SessionsPerUser
	}
	switch {
	case s == SessionsShared && in.Chat == adapter.ChatGroup:
		group, _, _ := strings.Cut(in.Session, member)
		return group
	case s == SessionsPerUser && in.Chat == adapter.ChatThread:
		return in.Session + member + session.PersonOf(in.User)
	}
	return in.Session
}

// groups remembers what was said last in each group, for the sessions that did not hear it.
type groups struct {
	mu   sync.Mutex
	last map[string]*group // by adapter and chat
}

type group struct {
	count int // of lines that were ever said
	lines []line
	// heard is how many lines each session has heard.
	heard map[string]int
}

// line is a line of a group and the session that it belongs to, empty if the bot was not addressed.
// platform and person name who said it.
type line struct{ session, said, platform, person string }

// hear adds a message to the lines of its group. If it is for the bot, it returns those that its session has not heard. The lines of
// guests are heard by no session (TR1).
func (g *groups) hear(in adapter.Inbound, addressed bool, role ops.Role) (before []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := in.Adapter + " " + adapter.ChatOf(in.Target)
	of := g.last[name]
	if of == nil {
		if g.last == nil || len(g.last) >= maxGroups {
			g.last = map[string]*group{}
		}
		of = &group{heard: map[string]int{}}
		g.last[name] = of
	}
	said := line{platform: in.Adapter, person: session.PersonOf(in.User), said: term.Clean(strings.Join(strings.Fields(speaker(in)+": "+in.Text+files(in.Files)), " "), maxLine)}
	if addressed {
		said.session = in.Session
		first := of.count - len(of.lines)
		for i, l := range of.lines {
			if first+i >= of.heard[in.Session] && l.session != in.Session && l.said != "" {
				before = append(before, l.said)
			}
		}
		if len(of.heard) >= maxGroups {
			clear(of.heard)
		}
		of.heard[in.Session] = of.count + 1
	}
	if role == ops.RoleGuest {
		said = line{session: said.session}
	}
	of.count++
	if of.lines = append(of.lines, said); len(of.lines) > maxLines {
		of.lines = slices.Delete(of.lines, 0, 1)
	}
	return before
}

// inGroup reports whether several people may speak in the chat of a message.
func inGroup(in adapter.Inbound) bool {
	return in.Chat == adapter.ChatGroup || in.Chat == adapter.ChatThread
}

// speaker is who wrote a message, for the model.
func speaker(in adapter.Inbound) string {
	if name := term.Clean(in.Sender, 64); name != "" {
		return name
	}
	return term.Clean(in.User, 64)
}

// words is the text of a message that is for the bot, as the model reads it.
func (i *Intake) words(in adapter.Inbound, text string, role ops.Role) string {
	var before []string
	if inGroup(in) {
		before = i.groups.hear(in, true, role)
	}
	return forModel(in, text, before)
}

// forModel is the text of a message as the model reads it: with who speaks, what the message answers, and what was said in the
// group before. The plain message of one person is its text alone. Its turn adds what becomes of its files (package media).
func forModel(in adapter.Inbound, text string, before []string) string {
	if !inGroup(in) && !in.Edited && in.Quoted == "" {
		return text
	}
	var b strings.Builder
	switch {
	case inGroup(in):
		b.WriteString(speaker(in) + edited(in) + " says: ")
	case in.Edited:
		b.WriteString("An earlier message, edited: ")
	}
	b.WriteString(strings.TrimSpace(text))
	if quoted := strings.TrimSpace(in.Quoted); quoted != "" {
		if len(quoted) > maxQuoted {
			quoted = strings.ToValidUTF8(quoted[:maxQuoted], "") + " …"
		}
		b.WriteString("\n\n[It answers this message:]\n> " + strings.ReplaceAll(quoted, "\n", "\n> "))
	}
	if len(before) > 0 {
		b.WriteString("\n\n[Said in this group before, for your information only:]\n> " + strings.Join(before, "\n> "))
	}
	return strings.TrimSpace(b.String())
}

func edited(in adapter.Inbound) string {
	if in.Edited {
		return ", who edited an earlier message,"
	}
	return ""
}

// files names the files of a message that a group's session did not get (TF6).
func files(all []adapter.File) string {
	var b strings.Builder
	for _, f := range all {
		what := term.Clean(f.Name, 120)
		if what == "" {
			what = term.Clean(f.Type, 60)
		}
		b.WriteString(strings.TrimRight(" [with a file: "+what, " :") + "]")
	}
	return b.String()
}

// bareStop reports whether a text is nothing but the word.
func bareStop(text string) bool {
	return strings.EqualFold(strings.TrimRightFunc(strings.TrimSpace(text), func(r rune) bool { return unicode.IsPunct(r) }), "stop")
}

// addressed reports whether a message is for the bot: in a group one that names it, answers it, or is one of its commands; with
// the rules of its chat also every one, or the commands alone. A bare "stop" is for it while it works for that person.
func (i *Intake) addressed(in adapter.Inbound, m Mention, r request) bool {
	switch {
	case !inGroup(in), m == MentionAlways, m != MentionNever && in.Mentioned, r.once != "", i.o.Conversations.Knows(r.command):
		return true
	}
	v, running := i.o.Table.Running(in.Session)
	return running && bareStop(in.Text) && session.PersonOf(v.Message.User) == session.PersonOf(in.User)
}
