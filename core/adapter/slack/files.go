package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// maxFile is the most bytes of a file that is sent. Slack takes a gigabyte; a file is held in memory here.
const maxFile = 50 << 20

// file is a file of a message (https://docs.slack.dev/reference/objects/file-object).
type file struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"mimetype"`
	Size int64  `json:"size"`
	// Mode is tombstone or hidden_by_limit where the file cannot be fetched, Kind slack_audio for a voice message.
	Mode string `json:"mode"`
	Kind string `json:"subtype"`
	URL  string `json:"url_private_download"`
}

// filesOf are the files of a message that can be fetched.
func filesOf(files []file) (all []adapter.File) {
	for _, f := range files {
		if isID(f.ID) && f.Mode != "tombstone" && f.Mode != "hidden_by_limit" {
			all = append(all, adapter.File{Name: f.Name, Type: f.Type, Size: max(f.Size, 0), Spoken: f.Kind == "slack_audio", Ref: f.ID})
		}
	}
	return all
}

// Fetch implements adapter.Fetcher.
func (c *conn) Fetch(ctx context.Context, ref string, most int64) (content []byte, err error) {
	if !isID(ref) {
		return nil, &adapter.RefusedError{Why: fmt.Sprintf("%.40q is not the name of a file of Slack", ref)}
	}
	err = c.While(ctx, func(ctx context.Context) error {
		var found struct {
			File file `json:"file"`
		}
		if err := c.api.act(ctx, "files.info", url.Values{"file": {ref}}, &found); err != nil {
			return err
		}
		content, err = c.api.download(ctx, found.File, most)
		return err
	})
	return content, err
}

// download reads a file, with the bot's token, which goes to the domain of the Web API alone.
func (a *api) download(ctx context.Context, of file, most int64) ([]byte, error) {
	if of.Size > most {
		return nil, bot.TooLarge(most)
	}
	if err := a.p.trusted(of.URL); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, of.URL, nil)
	if err != nil {
		return nil, a.failed("a file", err)
	}
	req.Header.Set("Authorization", "Bearer "+a.p.o.BotToken)
	return bot.Read(a.http, req, most, func(err error) error { return a.failed("a file", err) })
}

// trusted refuses an address outside of the domain of the Web API, and one in the clear where the API is not.
func (p *Platform) trusted(address string) error {
	base, err := url.Parse(p.o.BaseURL)
	if err != nil {
		return &adapter.RefusedError{Why: "base_url is not an address"}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != base.Scheme {
		return &adapter.RefusedError{Why: "Slack gave no address of the file"}
	}
	if host := base.Hostname(); u.Hostname() != host && !strings.HasSuffix(u.Hostname(), "."+host) {
		return &adapter.RefusedError{Why: "the file is at a host of another domain"}
	}
	return nil
}

// SendFile implements adapter.FileSender: Slack gives an address, takes the content there, and then shows the file
// (https://docs.slack.dev/messaging/working-with-files). A message of a file has no id that can be known in time.
func (c *conn) SendFile(ctx context.Context, target string, f adapter.OutgoingFile) (sent adapter.Sent, err error) {
	if len(f.Content) > maxFile {
		return sent, &adapter.RefusedError{Why: fmt.Sprintf("the file has %d bytes, and %d are sent", len(f.Content), maxFile)}
	}
	if len(f.Content) == 0 {
		return sent, &adapter.RefusedError{Why: "the file is empty, and Slack takes none"}
	}
	caption := messagesOf(f.Caption, false)
	if len(caption) > 1 {
		return sent, &adapter.RefusedError{Why: "the text next to the file is too long"}
	}
	text := ""
	if len(caption) == 1 {
		text = escaped.Replace(textOf(caption[0]))
	}
	err = c.about(ctx, target, func(ctx context.Context, to place) error {
		leave, err := c.chats.Enter(ctx, to, adapter.Outgoing{})
		if err != nil {
			return err
		}
		defer leave()
		return c.api.upload(ctx, to, f, text)
	})
	if err == nil {
		sent.IDs = []string{""}
		c.shown(ctx, target)
	}
	return sent, err
}

func (a *api) upload(ctx context.Context, to place, f adapter.OutgoingFile, text string) error {
	name := bot.FileName(f.Name)
	var given struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	err := a.act(ctx, "files.getUploadURLExternal", url.Values{"filename": {name}, "length": {strconv.Itoa(len(f.Content))}}, &given)
	if err != nil {
		return unsent(err)
	}
	if err := a.p.trusted(given.URL); err != nil {
		return err
	}
	body, kind, err := bot.Form(nil, "file", f)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, given.URL, strings.NewReader(string(body)))
	if err != nil {
		return a.failed("send a file", err)
	}
	req.Header.Set("Content-Type", kind)
	if _, err := bot.Read(a.http, req, maxAnswer, func(err error) error { return a.failed("send a file", err) }); err != nil {
		return unsent(err)
	}
	files, err := json.Marshal([]map[string]string{{"id": given.ID, "title": name}})
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	in := url.Values{"files": {string(files)}, "channel_id": {to.channel}}
	if to.thread != "" {
		in.Set("thread_ts", to.thread)
	}
	if text != "" {
		in.Set("initial_comment", text)
	}
	return a.act(ctx, "files.completeUploadExternal", in, nil)
}

// unsent is the error of a call before the one that shows a file: nothing arrived.
func unsent(err error) error {
	_, refused := errors.AsType[*adapter.RefusedError](err)
	_, limited := errors.AsType[*adapter.RateLimitError](err)
	if refused || limited {
		return err
	}
	return &adapter.UnsentError{Err: err}
}
