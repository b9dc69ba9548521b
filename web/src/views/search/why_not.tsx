// Why a plan that somebody has in mind is not the best, cause by cause.
import type { Why } from "../../api/answers";
import { Block } from "../../parts/block";
import { PlanText } from "../../parts/plan_text";
import { csv } from "../../text/csv";
import * as format from "../../text/format";
import { plain, VERDICTS } from "../../text/words";
import { search_command } from "./search_question";
import type { FoundProps } from "./summary";

const LEAST_S = 5e-4;
const causes_of = (why: Why): [string, number][] =>
  Object.entries(why.more_s ?? {}).filter(([, s]) => Math.abs(s) >= LEAST_S).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));

export function WhyNot({ words, found }: FoundProps) {
  const whys = found.why ?? [];
  return (
    <Block title="Why not" name="why" command={() => search_command(words)}
      table={() => csv(["asked", "cause", "more_s"], whys.flatMap((why) => causes_of(why).map(([cause, s]) => [why.asked, cause, s])))}>
      {whys.map((why) => (
        <div key={why.asked} class="why">
          <h3 class="mono">{why.asked}</h3>
          {why.rejected !== null ? <p>{why.rejected}</p> : (
            <>
              <p>
                at its best <span class="mono"><PlanText text={why.plan ?? ""} /></span>: {format.seconds(why.step_s!)}, {format.gib(why.needed_bytes!)}, {VERDICTS[why.verdict!] ?? why.verdict};{" "}
                {why.better_plans_at_least ? "more than " : ""}{format.whole(why.better_plans)} plans are better
              </p>
              <table>
                <caption class="visually-hidden">Seconds more than the best plan, by cause</caption>
                <tbody>
                  {causes_of(why).map(([cause, s]) => (
                    <tr key={cause}><th scope="row">{plain(cause)}</th><td class="number">{s < 0 ? "−" : "+"}{format.seconds(Math.abs(s))}</td></tr>
                  ))}
                </tbody>
              </table>
            </>
          )}
        </div>
      ))}
    </Block>
  );
}
