package signature

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

const slackBody = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"

// documented are the examples of those who made the schemes.
var documented = []struct {
	scheme Scheme
	secret string
	at     int64
	r      Request
}{
	{GitHub, "It's a Secret to Every" + "body", 0, Request{
		Body: []byte("Hello, World!"), Header: header("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
	}},
	{Slack, "8f742231b10e8888abcd99yyyzzz85a5", 1531420618, Request{
		Body: []byte(slackBody), Header: header("X-Slack-Request-Timestamp", "1531420618", "X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"),
	}},
	{Standard, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330, Request{
		Body: []byte(`{"test": 2432232314}`), Header: header("Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp", "1614265330",
			"Webhook-Signature", "v1,old= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
	}},
	{Twilio, "12345", 0, Request{
		Address: "https://mycompany.com/myapp.php?foo=1&bar=2", Header: header("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
		Body: []byte("CallSid=CA1234567890ABCDE&Digits=1234&From=%2B14158675309&To=%2B18005551212&Caller=%2B14158675309"),
	}},
}

func TestHR9_TheDocumentedExamplesOfEachSchemeAreAccepted(t *testing.T) {
	for _, d := range documented {
		t.Run(string(d.scheme), func(t *testing.T) {
			name, err := Check(d.scheme, d.secret, d.r, time.Unix(d.at, 0))
			if err != nil || len(name) != 64 {
				t.Errorf("the example is %q: %v", name, err)
			}
		})
	}
}

// signed is a request of each scheme, and for the gateway's own one made by Sign.
func signed(now time.Time) []struct {
	scheme Scheme
	secret string
	at     int64
	r      Request
} {
	own := Request{Header: http.Header{}, Body: []byte("body")}
	Sign(own.Header, "own secret", own.Body, now)
	all := documented
	return append(all, struct {
		scheme Scheme
		secret string
		at     int64
		r      Request
	}{Gateway, "own secret", now.Unix(), own})
}

func TestHR9_ARequestThatWasChangedOrIsOldIsRefused(t *testing.T) {
	timed := map[Scheme]bool{Gateway: true, Slack: true, Standard: true}
	for _, d := range signed(time.Unix(1_700_000_000, 0)) {
		t.Run(string(d.scheme), func(t *testing.T) {
			check := func(what string, r Request, secret string, after time.Duration, want error) {
				t.Helper()
				if _, err := Check(d.scheme, secret, r, time.Unix(d.at, 0).Add(after)); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
			}
			check("it is as it was", d.r, d.secret, 0, nil)
			check("another secret", d.r, d.secret+"x", 0, ErrWrong)
			check("no secret", d.r, "", 0, ErrWrong)
			body := d.r
			body.Body = append([]byte("x"), d.r.Body...)
			check("another body", body, d.secret, 0, ErrWrong)
			check("no signature", Request{Address: d.r.Address, Body: d.r.Body, Header: http.Header{}}, d.secret, 0, ErrUnsigned)
			garbled := d.r
			garbled.Header = http.Header{}
			for name, values := range d.r.Header {
				garbled.Header[name] = values
				if strings.Contains(name, "ignature") {
					garbled.Header[name] = []string{"sha256=zz"}
				}
			}
			check("a signature that cannot be read", garbled, d.secret, 0, ErrWrong)
			late := map[bool]error{true: ErrTime}[timed[d.scheme]]
			check("just within the window", d.r, d.secret, Window, nil)
			check("after the window", d.r, d.secret, Window+time.Second, late)
			check("before the window", d.r, d.secret, -Window-time.Second, late)
		})
	}
}

func TestHR9_TheNameOfAMessageComesFromWhatIsSigned(t *testing.T) {
	name := func(s Scheme, secret string, r Request, now time.Time) string {
		t.Helper()
		name, err := Check(s, secret, r, now)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return name
	}
	hub := documented[0]
	first := name(GitHub, hub.secret, hub.r, time.Time{})
	hub.r.Header = hub.r.Header.Clone()
	hub.r.Header.Set("X-GitHub-Delivery", "another")
	if name(GitHub, hub.secret, hub.r, time.Time{}) != first {
		t.Error("a copied request with another delivery id has another name")
	}
	now := time.Unix(1_700_000_000, 0)
	own := func(at time.Time) Request {
		r := Request{Header: http.Header{}, Body: []byte("body")}
		Sign(r.Header, "s", r.Body, at)
		return r
	}
	if a, b := name(Gateway, "s", own(now), now), name(Gateway, "s", own(now), now.Add(time.Minute)); a != b {
		t.Error("a repeated request has another name")
	}
	if a, b := name(Gateway, "s", own(now), now), name(Gateway, "s", own(now.Add(time.Second)), now); a == b {
		t.Error("the same body at another time has the same name")
	}
}

func TestTwilioSignsTheSumOfABodyThatIsNotAForm(t *testing.T) {
	// The example of https://www.twilio.com/docs/usage/security for a body of JSON.
	body := []byte(`{"property": "value", "boolean": true}`)
	r := Request{
		Address: "https://mycompany.com/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620",
		Header:  header("X-Twilio-Signature", "a9nBmqA0ju/hNViExpshrM61xv4="), Body: body,
	}
	if _, err := Check(Twilio, "12345", r, time.Time{}); err != nil {
		t.Errorf("the example is refused: %v", err)
	}
	r.Body = append(body, ' ')
	if _, err := Check(Twilio, "12345", r, time.Time{}); !errors.Is(err, ErrWrong) {
		t.Errorf("another body is %v", err)
	}
}

func FuzzNothingIsAcceptedWithoutTheSecret(f *testing.F) {
	for _, d := range documented {
		f.Add(string(d.scheme), d.r.Address, string(d.r.Body), "v1=00", strconv.FormatInt(d.at, 10))
	}
	f.Fuzz(func(t *testing.T, scheme, address, body, given, at string) {
		h := http.Header{}
		for _, name := range []string{SignatureHeader, "X-Hub-Signature-256", "X-Slack-Signature", "Webhook-Signature", "X-Twilio-Signature"} {
			h.Set(name, given)
		}
		for _, name := range []string{TimeHeader, "X-Slack-Request-Timestamp", "Webhook-Timestamp"} {
			h.Set(name, at)
		}
		h.Set("Webhook-Id", "id")
		seconds, _ := strconv.ParseInt(at, 10, 64)
		if _, err := Check(Scheme(scheme), "a secret that no input knows", Request{address, h, []byte(body)}, time.Unix(seconds, 0)); err == nil {
			t.Errorf("a request of the scheme %q was accepted", scheme)
		}
	})
}
