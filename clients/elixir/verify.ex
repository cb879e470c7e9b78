# Verifies the signature of a delivery, without dependencies.
defmodule Webhooks do
  def genuine?(header, body, secret, now \\ DateTime.utc_now()) do
    form = ~r/\A\s*([a-z][a-z0-9]*)=(\S+)\s*\z/
    time = ~r/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(Z|[+-]\d\d:\d\d)?\z/
    found = for field <- String.split(header || "", ","), do: Regex.run(form, field, capture: :all_but_first)

    with false <- Enum.member?(found, nil),
         fields = Map.new(found, &List.to_tuple/1),
         true <- map_size(fields) == length(found),
         %{"t" => t, "v0" => v0} <- fields,
         [_ | zone] <- Regex.run(time, t),
         {:ok, <<given::binary-size(32)>>} <- Base.decode16(v0, case: :mixed),
         true <- :crypto.hash_equals(:crypto.mac(:hmac, :sha256, secret, [t, ".", body]), given),
         {:ok, signed_at, _} <- DateTime.from_iso8601(if(zone == [], do: t <> "Z", else: t)) do
      abs(DateTime.diff(now, signed_at, :millisecond)) <= 300_000
    else
      _ -> false
    end
  end
end
