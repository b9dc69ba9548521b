// Bars as boxes of the page, not drawings: they lie in tables that a screen reader reads, and follow any width.

export interface Piece {
  readonly label: string;
  readonly value: number;
  readonly colour: string;  // a class, c-...
}

// A share of a whole, as one bar in a cell.
export function Bar(props: { share: number; colour: string }) {
  return (
    <div class="bar" aria-hidden="true">
      <div class={props.colour} style={{ width: `${Math.min(Math.max(props.share, 0), 1) * 100}%` }} />
    </div>
  );
}

// Pieces one after the other, with a mark where a limit lies. `most` is the value at the right end.
export function Stack(props: { pieces: readonly Piece[]; most: number; limit?: number; text: (piece: Piece) => string }) {
  return (
    <div class="stack" aria-hidden="true">
      {props.pieces.filter((piece) => piece.value > 0).map((piece) => (
        <div key={piece.label} class={piece.colour} title={props.text(piece)}
          style={{ width: `${(piece.value / props.most) * 100}%` }} />
      ))}
      {props.limit !== undefined && <i class="limit" style={{ left: `${(props.limit / props.most) * 100}%` }} />}
    </div>
  );
}

export function Legend(props: { pieces: readonly Piece[] }) {
  return (
    <ul class="legend" aria-hidden="true">
      {props.pieces.map((piece) => (
        <li key={piece.label}>
          <i class={piece.colour} />
          {piece.label}
        </li>
      ))}
    </ul>
  );
}
