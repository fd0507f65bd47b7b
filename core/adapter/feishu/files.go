package feishu

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// The most bytes of a file and of a picture that a bot may send.
const (
	maxFile    = 30 << 20
	maxPicture = 10 << 20
)

// maxReason is the most bytes of an answer that says why there is no file.
const maxReason = 4 << 10

// Fetch implements adapter.Fetcher.
func (c *conn) Fetch(ctx context.Context, ref string, most int64) (content []byte, err error) {
	message, rest, _ := strings.Cut(ref, "/")
	kind, name, _ := strings.Cut(rest, "/")
	if !isID(message, messageID) || kind != "image" && kind != "file" || !isKey(name) {
		return nil, &adapter.RefusedError{Why: "the name of the file is not one of Feishu"}
	}
	err = c.While(ctx, func(ctx context.Context) error {
		r := request{verb: http.MethodGet, path: messages + "/" + message + "/resources/" + name + "?type=" + kind, most: max(most+1, maxReason)}
		content, err = c.api.send(ctx, r)
		return asRefused(err)
	})
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > most:
		return nil, bot.TooLarge(most)
	}
	return content, nil
}

// SendFile implements adapter.FileSender. Feishu has no text next to a file: it is the message before the file. A picture is shown
// in a card, above its text.
func (c *conn) SendFile(ctx context.Context, target string, f adapter.OutgoingFile) (sent adapter.Sent, err error) {
	to, err := targetOf(target)
	if err != nil {
		return sent, err
	}
	caption := textsOf(f.Caption, false)
	switch {
	case len(f.Content) == 0:
		return sent, &adapter.RefusedError{Why: "the file is empty, and Feishu takes no empty ones"}
	case len(f.Content) > maxFile:
		return sent, &adapter.RefusedError{Why: fmt.Sprintf("the file has %d bytes, and Feishu takes %d", len(f.Content), maxFile)}
	case len(caption) > 1:
		return sent, &adapter.RefusedError{Why: "the text next to the file is too long"}
	}
	err = c.While(ctx, func(ctx context.Context) error {
		leave, err := c.chats.Enter(ctx, to, adapter.Outgoing{})
		if err != nil {
			return err
		}
		defer leave()
		id, err := c.sendFile(ctx, place{address: to, answers: answered(target)}, f, caption)
		if err == nil {
			sent.IDs = []string{id}
		}
		return err
	})
	return sent, err
}

func (c *conn) sendFile(ctx context.Context, at place, f adapter.OutgoingFile, caption []text) (string, error) {
	if pictures[f.Type] && len(f.Content) <= maxPicture {
		name, err := c.api.upload(ctx, "/open-apis/im/v1/images", url.Values{"image_type": {"message"}}, "image", f)
		if err != nil {
			return "", err
		}
		var below []piece
		for _, text := range caption {
			below = append(below, text.element())
		}
		picture := piece{"tag": "img", "img_key": name, "alt": piece{"tag": "plain_text", "content": ""}}
		return c.api.put(ctx, at, outgoing{kind: "interactive", content: cardOf(picture, below), uuid: uuid(f.Key, 0)})
	}
	name, err := c.api.upload(ctx, "/open-apis/im/v1/files", url.Values{"file_type": {typeOf(f.Name)}, "file_name": {bot.FileName(f.Name)}}, "file", f)
	if err != nil {
		return "", err
	}
	for _, text := range caption {
		if _, err := c.api.put(ctx, at, outgoing{kind: "interactive", content: cardOf(text.element(), nil), uuid: uuid(f.Key, 1)}); err != nil {
			return "", err
		}
		at.answers = ""
	}
	content, err := encode(map[string]string{"file_key": name})
	if err != nil {
		return "", &adapter.RefusedError{Why: err.Error()}
	}
	return c.api.put(ctx, at, outgoing{kind: "file", content: string(content), uuid: uuid(f.Key, 0)})
}

// upload gives Feishu the content of a file and returns its key. It is not a message yet.
func (a *api) upload(ctx context.Context, to string, fields url.Values, field string, f adapter.OutgoingFile) (string, error) {
	body, kind, err := bot.Form(fields, field, f)
	if err != nil {
		return "", &adapter.RefusedError{Why: err.Error()}
	}
	var out struct {
		File  string `json:"file_key"`
		Image string `json:"image_key"`
	}
	r := request{verb: http.MethodPost, path: to, kind: kind, body: body}
	if err := a.act(ctx, r, &out); err != nil {
		return "", unsent(err)
	}
	if name := out.File + out.Image; isKey(name) {
		return name, nil
	}
	return "", unsent(a.failed(r, errNoAnswer))
}

// unsent is the error of a call before that of the message: the message did not arrive, even if the call did.
func unsent(err error) error {
	if adapter.MayHaveArrived(err) {
		return &adapter.UnsentError{Err: err}
	}
	return err
}

// pictures are the media types that Feishu shows as pictures.
var pictures = map[string]bool{"image/jpeg": true, "image/png": true, "image/webp": true, "image/gif": true, "image/bmp": true, "image/tiff": true, "image/x-icon": true}

// typeOf is Feishu's word for what a file of this name is; what it has no word for is a stream.
func typeOf(name string) string {
	switch kind := strings.TrimPrefix(strings.ToLower(path.Ext(name)), "."); kind {
	case "pdf":
		return kind
	case "doc", "docx":
		return "doc"
	case "xls", "xlsx":
		return "xls"
	case "ppt", "pptx":
		return "ppt"
	}
	return "stream"
}
