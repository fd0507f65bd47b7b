package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// maxAbout is the most that Telegram takes for a command in the menu, in runes.
const maxAbout = 256

// send sends one message of at most maxUnits and returns its id. Only ctx bounds it.
func (a *api) send(ctx context.Context, to address, m formatted) (id int64, err error) {
	var result struct {
		ID int64 `json:"message_id"`
	}
	params := to.params()
	if err := m.add(params); err != nil {
		return 0, err
	}
	answering(params, m.answers)
	err = a.write(ctx, "sendMessage", params, &result)
	return result.ID, err
}

// edit makes the message id what m says.
func (a *api) edit(ctx context.Context, to address, id int64, m formatted) error {
	params := to.message(id)
	if err := m.add(params); err != nil {
		return err
	}
	err := a.write(ctx, "editMessageText", params, new(json.RawMessage))
	if refused, is := errors.AsType[*adapter.RefusedError](err); is && strings.Contains(refused.Why, "message is not modified") {
		return nil
	}
	return err
}

// remove takes the message id out of the chat.
func (a *api) remove(ctx context.Context, to address, id int64) error {
	err := a.write(ctx, "deleteMessage", to.message(id), new(bool))
	if gone(err) {
		return nil
	}
	return err
}

// menu makes commands the menu of the bot, unless they are that already: Telegram allows few changes.
func (a *api) menu(ctx context.Context, commands []adapter.MenuCommand) error {
	type command struct {
		Name  string `json:"command"`
		About string `json:"description"`
	}
	want, have := []command{}, []command{}
	for _, c := range commands {
		want = append(want, command{c.Name, term.Clean(c.About, maxAbout)})
	}
	if err := a.call(ctx, 0, http.MethodGet, "getMyCommands", nil, &have); err != nil {
		return err
	}
	if slices.Equal(want, have) {
		return nil
	}
	list, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("write the menu: %w", err)
	}
	return a.call(ctx, 0, http.MethodPost, "setMyCommands", url.Values{"commands": {string(list)}}, new(bool))
}

// typing shows for five seconds that the bot types.
func (a *api) typing(ctx context.Context, to address) error {
	params := to.params()
	params.Set("action", "typing")
	return a.write(ctx, "sendChatAction", params, new(bool))
}

// answering makes the message of a call one that answers another; 0: none.
func answering(params url.Values, message int64) {
	if message != 0 {
		params.Set("reply_parameters", fmt.Sprintf(`{"message_id":%d,"allow_sending_without_reply":true}`, message))
	}
}

// message names a message of a chat.
func (a address) message(id int64) url.Values {
	return url.Values{"chat_id": {strconv.FormatInt(a.chat, 10)}, "message_id": {strconv.FormatInt(id, 10)}}
}

// params name a chat and its topic.
func (a address) params() url.Values {
	params := url.Values{"chat_id": {strconv.FormatInt(a.chat, 10)}}
	if a.topic != 0 {
		params.Set("message_thread_id", strconv.FormatInt(a.topic, 10))
	}
	return params
}

// gone reports whether a call failed because a message is not there any more.
func gone(err error) bool {
	refused, is := errors.AsType[*adapter.RefusedError](err)
	return is && strings.Contains(refused.Why, "not found")
}
