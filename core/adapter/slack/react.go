package slack

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"gatewaytui/core/adapter"
)

// React implements adapter.Reactor. Slack knows a sign by its name; one without a name here is refused.
func (c *conn) React(ctx context.Context, target, message, emoji string) error {
	name, known := emojis[emoji]
	if emoji != "" && !known {
		return &adapter.RefusedError{Why: "Slack has no name for this sign"}
	}
	if err := named(message); err != nil {
		return err
	}
	return c.about(ctx, target, func(ctx context.Context, to place) error {
		mine, err := c.api.reactions(ctx, to.channel, message, c.me.User)
		if _, refused := errors.AsType[*adapter.RefusedError](err); err != nil && (!refused || emoji == "" || said(err, "message_not_found")) {
			return err // else the bot may not read reactions, and has put no sign there that it knows of
		}
		for _, one := range mine {
			if one == name {
				continue
			}
			if err := c.api.react(ctx, "reactions.remove", to.channel, message, one); err != nil && !said(err, "no_reaction") {
				return err
			}
		}
		if emoji == "" || slices.Contains(mine, name) {
			return nil
		}
		if err := c.api.react(ctx, "reactions.add", to.channel, message, name); err != nil && !said(err, "already_reacted") {
			return err
		}
		return nil
	})
}

func (a *api) react(ctx context.Context, method, channel, message, name string) error {
	return a.act(ctx, method, url.Values{"channel": {channel}, "timestamp": {message}, "name": {name}}, nil)
}

// reactions are the names of the bot's own signs on a message.
func (a *api) reactions(ctx context.Context, channel, message, me string) (mine []string, err error) {
	var found struct {
		Message struct {
			Reactions []struct {
				Name  string   `json:"name"`
				Users []string `json:"users"`
			} `json:"reactions"`
		} `json:"message"`
	}
	if err := a.act(ctx, "reactions.get", url.Values{"channel": {channel}, "timestamp": {message}, "full": {"true"}}, &found); err != nil {
		return nil, err
	}
	for _, r := range found.Message.Reactions {
		if slices.Contains(r.Users, me) {
			mine = append(mine, r.Name)
		}
	}
	return mine, nil
}

// emojis are Slack's names of signs.
var emojis = map[string]string{
	"👀": "eyes", "👍": "+1", "👎": "-1", "✅": "white_check_mark", "❌": "x", "❤": "heart", "❤️": "heart", "🎉": "tada", "🔥": "fire",
	"🙏": "pray", "👏": "clap", "🤔": "thinking_face", "😁": "grin", "😀": "grinning", "🙂": "slightly_smiling_face", "😂": "joy", "😢": "cry",
	"😱": "scream", "💯": "100", "⚠️": "warning", "⚠": "warning", "⏳": "hourglass_flowing_sand", "⌛": "hourglass", "🚀": "rocket",
	"👋": "wave", "👌": "ok_hand", "💡": "bulb", "🤖": "robot_face", "🛑": "octagonal_sign", "⛔": "no_entry", "🔒": "lock", "📎": "paperclip",
	"📌": "pushpin", "✍": "writing_hand", "✍️": "writing_hand", "✏️": "pencil2", "🐛": "bug", "⭐": "star", "🏁": "checkered_flag",
	"❓": "question", "❗": "exclamation", "ℹ️": "information_source", "🔁": "repeat", "🕐": "clock1", "💤": "zzz", "🤷": "shrug", "😊": "blush",
	"😎": "sunglasses", "🎯": "dart", "⚡": "zap", "💬": "speech_balloon", "🔧": "wrench", "🧠": "brain", "📝": "memo", "🆗": "ok",
}
