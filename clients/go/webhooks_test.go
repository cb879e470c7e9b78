package webhooks

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

// The shared vectors: go test ./...
func TestVectors(t *testing.T) {
	var vectors struct {
		ToleranceSeconds int `json:"tolerance_seconds"`
		Cases            []struct {
			Name, Expected, Secret string
			Header                 string
			Body                   []byte `json:"body_base64"`
			Now                    time.Time
		}
	}
	text, err := os.ReadFile("../vectors/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Cases) < 60 {
		t.Fatal("vectors are missing")
	}
	tolerance := time.Duration(vectors.ToleranceSeconds) * time.Second
	for _, one := range vectors.Cases {
		verdict := "valid"
		_, err := VerifyAt(one.Now, tolerance, one.Header, one.Body, one.Secret)
		var refused *SignatureError
		if errors.As(err, &refused) {
			verdict = refused.Code
		} else if err != nil {
			t.Error(err)
		}
		if verdict != one.Expected {
			t.Errorf("%s: %s, not %s", one.Name, verdict, one.Expected)
		}
	}
	if _, err := Verify("t=x", nil, ""); err == nil {
		t.Error("an empty secret was accepted")
	}
}
