package discord

import (
	"encoding/json"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/discord/discordtest"
)

// steered is the world as the conformance suite steers it. What is said before there is a session is said once there is one: Discord
// has no messages for a bot that never came.
type steered struct {
	*world
	early []string
}

func (p *steered) Platform() adapter.Platform { return p.world.Platform }

func (p *steered) Say(text string) {
	if len(p.api.Identifies()) == 0 {
		p.early = append(p.early, text)
		return
	}
	p.say(text)
}

func (p *steered) Pass(d time.Duration) {
	if len(p.api.Identifies()) > 0 {
		for _, text := range p.early {
			p.say(text)
		}
		p.early = nil
	}
	p.after(d)
}

func (p *steered) SayFile(text, name, content string) {
	p.api.Say(discordtest.Says{User: owner, Name: "alice", Text: text, Files: map[string]string{name: content}})
}

func (p *steered) Files() (out []conformance.SentFile) {
	for _, m := range p.api.Sent() {
		if m.Channel == dm && m.FileName != "" {
			out = append(out, conformance.SentFile{Name: m.FileName, Content: m.File, Text: m.Text})
		}
	}
	return out
}

func (p *steered) Reactions(message string) []string { return p.api.Reactions(message) }

func (p *steered) Press(label string, stranger bool) bool {
	var last discordtest.Message // of the chat: a stranger may have been told something as well
	for _, m := range p.api.Sent() {
		if m.Channel == dm {
			last = m
		}
	}
	var rows []row
	if err := json.Unmarshal(last.Components, &rows); err != nil {
		p.Fatal(err)
	}
	who, at := owner, dm
	if stranger {
		who, at = "666", "7666"
	}
	for _, r := range rows {
		for _, b := range r.Buttons {
			if b.Label == label {
				p.api.Press(who, at, b.Press)
				return true
			}
		}
	}
	return false
}

func (p *steered) Texts() (out []string) {
	for _, m := range p.api.Sent() {
		if m.Channel == dm {
			out = append(out, m.Text)
		}
	}
	return out
}

func (p *steered) Fail(f conformance.Fault) bool {
	switch f {
	case conformance.Flood:
		p.api.Fail("POST /channels/", discordtest.Fault{Status: 429, RetryAfter: conformance.Limit.Seconds()})
	case conformance.Refusal:
		p.api.Fail("POST /channels/", discordtest.Fault{Status: 403})
	case conformance.BadToken:
		p.api.Refuse(4004)
	case conformance.Gone:
		p.api.Fail("", discordtest.Fault{Status: 502})
		p.api.Refuse(4000)
		p.api.Drop(0)
	case conformance.HalfDead:
		p.api.Fail("", discordtest.Fault{Hang: true})
		p.api.Deafen(true)
	default: // Discord lets several programs use a bot
		return false
	}
	return true
}

func (p *steered) Heal() {
	p.api.Heal()
	p.api.Refuse(0)
	p.api.Deafen(false)
}

func TestPL2_DiscordConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
		simulate(t, func(w *world) { f(w.T, &steered{world: w}) })
	})
}
