package prompt

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

func (s *Service) build(context.Context, conversation.UserID, Request) (Prompt, error) {
	return Prompt{}, fault.New(fault.Unavailable, "prompts can't be built yet")
}
