package term

import (
	"strings"
	"testing"
)

const canary = "c4nary-Hunter2-Zx81qq"

// botCanary has the shape of a Telegram bot token and is not one.
const botCanary = "7123456789:AAE-c4naryc4naryc4naryc4naryc4nary"

// TestI1_RedactMasksSecrets: in every line the canary is the secret, and only it goes.
func TestI1_RedactMasksSecrets(t *testing.T) {
	for _, c := range []struct{ name, in string }{
		{"a flag and its value", "deploy --token " + canary + " --dry-run"},
		{"a flag with an equals sign", "deploy --api-key=" + canary + " now"},
		{"a flag of one dash", "tool -password " + canary},
		{"a flag named key", "tool --key " + canary},
		{"a quoted value", `tool --secret "` + canary + ` and more" next`},
		{"an argument list in JSON", `["tool","--token","` + canary + `","x"]`},
		{"an argument list in Go", `["tool" "--token" "` + canary + `"]`},
		{"curl's user and password", "curl -u alice:" + canary + " http://h"},
		{"an environment assignment", "OPENAI_API_KEY=" + canary + " ./run"},
		{"a bare KEY assignment", "KEY=" + canary},
		{"a name with more after it", "DB_PASSWORD_PROD=" + canary},
		{"an assignment with a comma in it", "PASSWORD=" + canary + ",,"},
		{"a spaced assignment", `client_secret = "` + canary + `"`},
		{"an exported assignment in quotes", `bash -c 'export GITHUB_TOKEN=` + canary + `; make'`},
		{"a JSON member", `{"user":"a","accessToken":"` + canary + `"}`},
		{"a JSON member with an escaped quote", `{"password":"` + canary + `\"` + canary + `"}`},
		{"JSON inside a string", `body "{\"token\":\"` + canary + `\",\"a\":1}"`},
		{"a Python dict", `{'api_key': '` + canary + `'}`},
		{"YAML", "password: " + canary},
		{"a bearer header", "Authorization: Bearer " + canary},
		{"a header in a command", `curl -H 'Authorization: token ` + canary + `' http://h`},
		{"a header of an API key", "x-api-key: " + canary + " sent"},
		{"a bearer on its own", "sent bearer " + canary + " twice"},
		{"a cookie", `Cookie: a=1; session=` + canary},
		{"a password in a URL", "dial postgres://bob:" + canary + "@db:5432/x: refused"},
		{"a password with an at sign in a URL", "http://bob:a@" + canary + "@host/"},
		{"a key in a query", `Get "https://h/v1?key=` + canary + `&alt=json": EOF`},
		{"a token in a query", "https://h/v1?access_token=" + canary},
		{"an OpenAI key", "invalid key sk-proj-" + canary},
		{"a GitHub token", "remote: ghp_" + canary + " rejected"},
		{"a Slack token", "(xoxb-" + canary + ")"},
		{"an AWS key", "AKIAIOSFODNN7" + "c4nary7"},
		{"a Telegram bot token in a URL", `Post "https://api.telegram.org/bot` + botCanary + `/getMe": EOF`},
		{"a JSON web token", "jwt eyJhbGciOiJIUzI1NiJ9.c4nary.c4nary"},
		{"a private key", "-----BEGIN EC PRIVATE KEY-----\nc4nary\n-----END EC PRIVATE KEY-----\nafter"},
		{"a private key that was cut off", "-----BEGIN PRIVATE KEY-----\\nc4nary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Redact(c.in)
			if strings.Contains(got, "c4nary") || !strings.Contains(got, Mask) {
				t.Errorf("Redact(%q) = %q, want the canary masked", c.in, got)
			}
			if again := Redact(got); again != got {
				t.Errorf("Redact again: %q, want %q", again, got)
			}
		})
	}
}

func TestRedactKeepsTheRest(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"the words around a flag", "deploy --token abc --dry-run", "deploy --token [redacted] --dry-run"},
		{"a flag without a value", "deploy --token --dry-run", "deploy --token --dry-run"},
		{"the user of a URL", "http://bob:pw@host/p", "http://bob:[redacted]@host/p"},
		{"the rest of a query", "https://h/?token=a&x=1", "https://h/?token=[redacted]&x=1"},
		{"the rest of a JSON text", `{"token":"a","n":1}`, `{"token":"[redacted]","n":1}`},
		{"the scheme of a header", "Authorization: Bearer abc rejected", "Authorization: Bearer [redacted] rejected"},
		{"the URL of a bot", "/bot" + botCanary + "/getMe", "/bot[redacted]/getMe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Redact(c.in); got != c.want {
				t.Errorf("Redact(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
	for _, plain := range []string{
		"", "a plain line", "session api:user:alice", "key=telegram:dm:4711", "tokens_in=512 tokens_out=3",
		"max_tokens=100", "token_env=TELEGRAM_BOT_TOKEN", "listen 127.0.0.1:8642", "http://host:80/a@b", "12:34:56 ok",
		"unexpected token: end of file", "ssh://git@host/repo", "bearer of news", "sort_key=name", "risk-free sk-8",
		"--user alice", "-----BEGIN CERTIFICATE-----", "basic auth needed", "sleep 60", "日本語 key",
	} {
		if got := Redact(plain); got != plain {
			t.Errorf("Redact(%q) = %q, want it unchanged", plain, got)
		}
	}
}

func TestRedactorKnowsItsValues(t *testing.T) {
	r := NewRedactor("pass phrase/1", "pass phrase/1 longer", "abc", "")
	for _, c := range []struct{ name, in, want string }{
		{"a value anywhere", "x=pass phrase/1.", "x=[redacted]."},
		{"the longer of two", "pass phrase/1 longer", "[redacted]"},
		{"in a query", "https://h/?x=pass+phrase%2F1", "https://h/?x=[redacted]"},
		{"in a path", "https://h/pass%20phrase%2F1/x", "https://h/[redacted]/x"},
		{"what is too short to be a secret stays", "abc", "abc"},
		{"what looks like a secret goes as well", "--token abc", "--token [redacted]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.Redact(c.in); got != c.want {
				t.Errorf("Redact(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
	var none *Redactor
	if got := none.Redact("--token abc"); got != "--token [redacted]" {
		t.Errorf("a nil Redactor: %q", got)
	}
}

func TestSecretName(t *testing.T) {
	for _, name := range []string{
		"token", "TOKEN", "OPENAI_API_KEY", "apiKey", "APIKey", "x-api-key", "client_secret", "accessToken", "KEY", "auth",
		"DB_PASSWORD", "authorization", "SSH_KEY",
	} {
		if !SecretName(name) {
			t.Errorf("SecretName(%q) = false, want true", name)
		}
	}
	for _, name := range []string{
		"", "key", "session_key", "tokens_in", "token_env", "api_key_file", "monkey", "author", "msg", "path", "keyboard",
		"token_count", "_",
	} {
		if SecretName(name) {
			t.Errorf("SecretName(%q) = true, want false", name)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{
		"--token x", `{"token":"a\"b"}`, "http://a:b@c", "Authorization: Bearer abc", "-----BEGIN PRIVATE KEY-----", `\"token\":\"a\"`,
		"cookie:", "--user=", "KEY = ", botCanary, "bearer 12345678",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Redact(s)
		if len(got) > len(s)+len(s)*len(Mask) {
			t.Fatalf("Redact(%q) = %q", s, got)
		}
		if got := Redact("GH_TOKEN=" + canary + " " + s); strings.HasPrefix(got, "GH_TOKEN="+canary) {
			t.Fatalf("what follows a secret uncovers it: %q", got)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	for _, c := range []struct{ name, in string }{
		{"plain", "adapter telegram connected after 3 attempts, last error: context deadline exceeded"},
		{"secret", `Post "https://api.telegram.org/bot` + botCanary + `/getMe": EOF`},
		{"hostile", strings.Repeat("--user=", 10_000)},
		{"hostile-pem", strings.Repeat("-----BEGIN ", 10_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.in)))
			b.ReportAllocs()
			for b.Loop() {
				Redact(c.in)
			}
		})
	}
}
