package slack

import (
	"cmp"
	"encoding/json"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// press is the part of a block_actions payload that is read: a button was pressed
// (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
type press struct {
	Type string `json:"type"`
	User struct {
		ID   string `json:"id"`
		Name string `json:"username"`
	} `json:"user"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		Channel string `json:"channel_id"`
		Message string `json:"message_ts"`
		Thread  string `json:"thread_ts"`
	} `json:"container"`
	Message struct {
		Thread string `json:"thread_ts"`
	} `json:"message"`
	Actions []struct {
		Block string `json:"block_id"`
		Value string `json:"value"`
		Stamp string `json:"action_ts"`
	} `json:"actions"`
}

// readPress tells what the press of a button is to the bot: a message. One that is not of a button of the gateway is nothing.
func readPress(payload json.RawMessage, me self) (event, error) {
	var p press
	if err := json.Unmarshal(payload, &p); err != nil {
		return event{}, err
	}
	channel, thread := cmp.Or(p.Channel.ID, p.Container.Channel), cmp.Or(p.Container.Thread, p.Message.Thread)
	if p.Type != "block_actions" || len(p.Actions) != 1 || !isID(p.User.ID) || !isID(channel) || thread != "" && !isStamp(thread) {
		return event{}, nil
	}
	a := p.Actions[0]
	if !strings.HasPrefix(a.Block, buttonBlock) || a.Value == "" || !isStamp(a.Stamp) {
		return event{}, nil
	}
	e := event{kind: legible, user: p.User.ID, channel: channel, team: cmp.Or(p.Team.ID, me.Team), private: private(channel), at: place{channel, thread}}
	e.message = adapter.Inbound{
		Adapter: "slack", Target: e.at.String(), Text: a.Value, Mentioned: true, Sender: term.Clean(p.User.Name, maxName),
		Dedupe: "slack:" + channel + ":press:" + a.Stamp + ":" + p.User.ID,
	}
	e.chat()
	return e, nil
}

// command is the payload of a slash command (https://docs.slack.dev/interactivity/implementing-slash-commands).
type command struct {
	Name    string `json:"command"`
	Text    string `json:"text"`
	User    string `json:"user_id"`
	Called  string `json:"user_name"`
	Channel string `json:"channel_id"`
	Team    string `json:"team_id"`
	Trigger string `json:"trigger_id"`
}

// readCommand tells what the use of a slash command is to the bot: a message.
func readCommand(payload json.RawMessage, me self, own string) (event, error) {
	var c command
	if err := json.Unmarshal(payload, &c); err != nil {
		return event{}, err
	}
	if !isID(c.User) || !isID(c.Channel) || c.Trigger == "" || !strings.HasPrefix(c.Name, "/") {
		return event{}, nil
	}
	e := event{kind: legible, user: c.User, channel: c.Channel, team: cmp.Or(c.Team, me.Team), private: private(c.Channel), at: place{channel: c.Channel}}
	e.message = adapter.Inbound{
		Adapter: "slack", Target: e.at.String(), Text: c.said(own), Mentioned: true, Sender: term.Clean(c.Called, maxName),
		Dedupe: "slack:command:" + term.Clean(c.Trigger, 120),
	}
	e.chat()
	return e, nil
}

// said is what the person would have written instead. What stands behind the app's own command is a chat command.
func (c command) said(own string) string {
	text := strings.TrimSpace(plain.Replace(c.Text))
	switch {
	case c.Name != own:
		return strings.TrimSpace(c.Name + " " + text)
	case text == "":
		return "/help"
	}
	return adapter.Slash + strings.TrimLeft(text, adapter.Slash+commandSign)
}
