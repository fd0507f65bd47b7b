package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// maxFile is the most bytes of a file that a bot may send.
const maxFile = 10 << 20

// attachment is a file of a message.
type attachment struct {
	ID   id     `json:"id"`
	Name string `json:"filename"`
	Type string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
	// Waveform is set for a voice message.
	Waveform string `json:"waveform"`
}

// files are the files of a message, each named by channel, message and itself: their addresses end after a day.
func (m *message) files() (all []adapter.File) {
	for _, a := range m.Files {
		all = append(all, adapter.File{
			Name: a.Name, Type: a.Type, Size: a.Size, Spoken: a.Waveform != "", Ref: fmt.Sprintf("%s/%s/%s", m.Channel, m.ID, a.ID),
		})
	}
	return all
}

// Fetch implements adapter.Fetcher.
func (c *conn) Fetch(ctx context.Context, ref string, most int64) (content []byte, err error) {
	parts := strings.Split(ref, "/")
	var ids [3]id
	for i, s := range parts {
		if i == len(ids) {
			return nil, &adapter.RefusedError{Why: "the name of the file is not one of Discord"}
		}
		if ids[i], err = parseID(s); err != nil {
			return nil, &adapter.RefusedError{Why: err.Error()}
		}
	}
	err = c.While(ctx, func(ctx context.Context) error {
		var m message
		if err := c.api.act(ctx, http.MethodGet, messages(ids[0])+"/"+ids[1].String(), nil, &m); err != nil {
			return err
		}
		for _, a := range m.Files {
			if a.ID == ids[2] {
				content, err = c.api.download(ctx, a, most)
				return err
			}
		}
		return &adapter.RefusedError{Why: "the file is gone"}
	})
	return content, err
}

// download reads a file, without the token: files are on another host.
func (a *api) download(ctx context.Context, of attachment, most int64) ([]byte, error) {
	if of.Size > most {
		return nil, bot.TooLarge(most)
	}
	u, err := url.Parse(of.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || strings.HasPrefix(a.p.o.BaseURL, "https:")) {
		return nil, &adapter.RefusedError{Why: "Discord gave no address of the file"}
	}
	return bot.Download(ctx, a.http, of.URL, most, func(err error) error { return a.failed(http.MethodGet, "the file", err) })
}

// SendFile implements adapter.FileSender.
func (c *conn) SendFile(ctx context.Context, target string, f adapter.OutgoingFile) (sent adapter.Sent, err error) {
	if len(f.Content) > maxFile {
		return sent, &adapter.RefusedError{Why: fmt.Sprintf("the file has %d bytes, and Discord takes %d", len(f.Content), maxFile)}
	}
	caption := textsOf(f.Caption, false)
	if len(caption) > 1 {
		return sent, &adapter.RefusedError{Why: "the text next to the file is too long"}
	}
	p := post{Flags: suppressEmbeds, Rows: []row{}}.named(f.Key, 0)
	if len(caption) == 1 {
		p.Text = caption[0]
	}
	text, err := json.Marshal(p)
	if err != nil {
		return sent, &adapter.RefusedError{Why: err.Error()}
	}
	body, kind, err := bot.Form(url.Values{"payload_json": {string(text)}}, "files[0]", f)
	if err != nil {
		return sent, &adapter.RefusedError{Why: err.Error()}
	}
	err = c.call(ctx, target, func(ctx context.Context, to id) error {
		leave, err := c.chats.Enter(ctx, to, adapter.Outgoing{})
		if err != nil {
			return err
		}
		defer leave()
		var result struct {
			ID id `json:"id"`
		}
		if err = c.api.request(ctx, http.MethodPost, messages(to), kind, body, &result); err == nil {
			sent.IDs = []string{result.ID.String()}
		}
		return asRefused(err)
	})
	return sent, err
}
