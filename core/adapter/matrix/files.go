package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/term"
)

// maxFile is the most bytes of a file that a bot may send: what the homeserver Synapse takes by default
// (max_upload_size). A homeserver that takes less refuses the upload.
const maxFile = 50 << 20

// Fetch implements adapter.Fetcher. The name of a file is its mxc URI. A homeserver before Matrix 1.11 has files at another place.
func (c *conn) Fetch(ctx context.Context, ref string, most int64) (file []byte, err error) {
	found := isMedia.FindStringSubmatch(ref)
	if len(ref) > maxID || found == nil {
		return nil, &adapter.RefusedError{Why: "the name of the file is not one of Matrix"}
	}
	err = c.While(ctx, func(ctx context.Context) error {
		r := request{verb: http.MethodGet, path: path(v1+"/media/download", found[1], found[2]), most: most}
		file, err = c.api.raw(ctx, r)
		if refusedAs(err, codeUnrecognized) {
			r.path = path("/_matrix/media/v3/download", found[1], found[2])
			file, err = c.api.raw(ctx, r)
		}
		if _, is := errors.AsType[*tooLong](err); is {
			return bot.TooLarge(most)
		}
		return asRefused(err)
	})
	return file, err
}

// SendFile implements adapter.FileSender: an upload, and the message that names it.
func (c *conn) SendFile(ctx context.Context, target string, f adapter.OutgoingFile) (sent adapter.Sent, err error) {
	if len(f.Content) > maxFile {
		return sent, &adapter.RefusedError{Why: fmt.Sprintf("the file has %d bytes, and Matrix takes %d", len(f.Content), maxFile)}
	}
	caption := textsOf(f.Caption, false)
	if len(caption) > 1 {
		return sent, &adapter.RefusedError{Why: "the text next to the file is too long"}
	}
	err = c.call(ctx, target, func(ctx context.Context, to address) error {
		leave, err := c.chats.Enter(ctx, to, adapter.Outgoing{})
		if err != nil {
			return err
		}
		defer leave()
		m, err := c.api.upload(ctx, f)
		if err != nil {
			return err
		}
		if len(caption) == 1 {
			m.Body = caption[0].Body
		}
		m.Relates = to.relation(answered(target))
		id, err := c.api.put(ctx, to.room, typeMessage, m, transaction(f.Key, 0))
		if err == nil {
			sent.IDs = []string{id}
			c.typing.end(ctx, c, to.room)
		}
		return err
	})
	return sent, err
}

// upload gives the homeserver a file, and returns the message that shows it. A file that no message names is not a message, so that an
// upload whose end is not known did not arrive.
func (a *api) upload(ctx context.Context, f adapter.OutgoingFile) (m content, err error) {
	name := bot.FileName(f.Name)
	kind := term.Clean(f.Type, 100)
	if kind == "" {
		kind = "application/octet-stream"
	}
	var kept struct {
		URI string `json:"content_uri"`
	}
	r := request{verb: http.MethodPost, path: "/_matrix/media/v3/upload", query: url.Values{"filename": {name}}, kind: kind, body: f.Content}
	if err = a.act(ctx, r, &kept); err != nil {
		if adapter.MayHaveArrived(err) {
			err = &adapter.UnsentError{Err: err}
		}
		return m, err
	}
	if !isMedia.MatchString(kept.URI) {
		return m, &adapter.UnsentError{Err: errors.New("the homeserver gave the file no name")}
	}
	m = message(name)
	m.Kind, m.FileName, m.URL, m.Info = "m.file", name, kept.URI, &info{Type: kind, Size: size(len(f.Content))}
	switch media, _, _ := strings.Cut(kind, "/"); media {
	case "image", "audio", "video":
		m.Kind = "m." + media
	}
	return m, nil
}
