package feishu

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"gatewaytui/core/adapter"
)

// maxPages bounds the pages of the reactions of a message that are read, of 50 each.
const maxPages = 10

// emojis are Feishu's words for emojis (https://open.feishu.cn/document/server-docs/im-v1/message-reaction/emojis-introduce). It has
// no others.
var emojis = map[string]string{
	"👀": "GLANCE", "👍": "THUMBSUP", "👎": "ThumbsDown", "✅": "CheckMark", "❌": "CrossMark", "👌": "OK", "🙏": "THANKS", "👏": "APPLAUSE", "💪": "MUSCLE",
	"❤": "HEART", "❤️": "HEART", "💔": "HEARTBROKEN", "🔥": "Fire", "🎉": "PARTY", "💯": "Hundred", "🤔": "THINKING", "🙂": "SMILE", "😊": "BLUSH", "😭": "SOB",
	"😢": "CRY", "😉": "WINK", "👋": "WAVE", "🌹": "ROSE", "💣": "BOMB", "🎁": "GIFT", "🍺": "BEER", "🎂": "CAKE", "☕": "Coffee", "🏆": "Trophy", "📌": "Pin",
	"⏰": "Alarm", "🎵": "Music", "💀": "SKULL", "💩": "POOP",
}

// React implements adapter.Reactor.
func (c *conn) React(ctx context.Context, _, message, emoji string) error {
	if err := checkMessage(message); err != nil {
		return err
	}
	want, known := emojis[emoji]
	if emoji != "" && !known {
		return &adapter.RefusedError{Why: fmt.Sprintf("%.20q is not a reaction of Feishu", emoji)}
	}
	return c.While(ctx, func(ctx context.Context) error {
		at := messages + "/" + message + "/reactions"
		mine, err := c.api.reactions(ctx, at)
		if err != nil {
			return err
		}
		there := false
		for _, one := range mine {
			if one.kind == want && !there {
				there = true
				continue
			}
			if err := c.api.act(ctx, request{verb: http.MethodDelete, path: at + "/" + one.id}, nil); err != nil {
				return err
			}
		}
		if there || want == "" {
			return nil
		}
		in := map[string]any{"reaction_type": map[string]string{"emoji_type": want}}
		return c.api.act(ctx, request{verb: http.MethodPost, path: at, in: in}, nil)
	})
}

// reaction is a sign of the bot on a message.
type reaction struct{ id, kind string }

// reactions are the bot's own on a message.
func (a *api) reactions(ctx context.Context, at string) (mine []reaction, err error) {
	next := ""
	for range maxPages {
		var page struct {
			Items []struct {
				ID       string `json:"reaction_id"`
				Operator struct {
					ID   string `json:"operator_id"`
					Type string `json:"operator_type"`
				} `json:"operator"`
				Type struct {
					Emoji string `json:"emoji_type"`
				} `json:"reaction_type"`
			} `json:"items"`
			More bool   `json:"has_more"`
			Next string `json:"page_token"`
		}
		query := url.Values{"page_size": {"50"}}
		if next != "" {
			query.Set("page_token", next)
		}
		if err := a.act(ctx, request{verb: http.MethodGet, path: at + "?" + query.Encode()}, &page); err != nil {
			return nil, err
		}
		for _, one := range page.Items {
			if one.Operator.Type == "app" && one.Operator.ID == a.p.o.AppID && isKey(one.ID) {
				mine = append(mine, reaction{one.ID, one.Type.Emoji})
			}
		}
		if next = page.Next; !page.More || next == "" {
			break
		}
	}
	return mine, nil
}
