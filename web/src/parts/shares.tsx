// A table of parts of a whole with a bar in each row.
import { Bar, type Piece } from "./bars";

export interface SharesProps {
  caption: string;
  head: string;
  unit: string;
  pieces: readonly Piece[];
  whole: number;
  text: (value: number) => string;
}

export function Shares({ caption, head, unit, pieces, whole, text }: SharesProps) {
  const most = Math.max(...pieces.map((piece) => piece.value), 1e-300);
  return (
    <table class="shares">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr><th scope="col">{head}</th><td aria-hidden="true" /><th scope="col" class="number">{unit}</th><th scope="col" class="number">%</th></tr>
      </thead>
      <tbody>
        {pieces.map((piece) => (
          <tr key={piece.label}>
            <th scope="row">{piece.label}</th>
            <td aria-hidden="true"><Bar share={piece.value / most} colour={piece.colour} /></td>
            <td class="number">{text(piece.value)}</td>
            <td class="number">{((piece.value / whole) * 100).toFixed(1)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
